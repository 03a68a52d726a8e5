"""An upstream that stalls, resets, lies about lengths, sends half a character, never ends: in every dialect the request ends
within its time, once, never as a success; nothing stays counted or open; and the next is answered as if nothing had been."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from faults.ways_to_ask import EVERY_WAY, Answering, Way, first_piece, good, named, policy_at
from servers.plain_client import connected
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import Cut, FakeUpstream, Received, Reply, Step, Until, fake_upstream, sse_reply

QUICK = {"connect": "200ms", "first_content": "200ms", "gap": "200ms", "total": "600ms"}
STALLS = "stalls"
ENDLESS = 100_000


def played(steps: Sequence[Step | str]) -> tuple[Step, ...]:
    """A stall is made when it is played: what waits belongs to one event loop."""
    return tuple(Until(asyncio.Event()) if isinstance(step, str) else step for step in steps)


def raw(*steps: Step | str) -> Answering:
    return lambda got: Reply(played(steps), framing="raw")


def streamed(*rest: Step | str) -> Answering:
    """A stream that begins well; to who asked for no stream, the bytes alone are sent as JSON."""

    def answer(got: Received) -> Reply:
        if got.json.get("stream"):
            return sse_reply(first_piece(got), *played(rest))
        return Reply((b'{"id":', *played(rest)))

    return answer


def claims(length: int, body: bytes, content_type: bytes = b"application/json") -> Answering:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n" % (content_type, length)
    return raw(head, body, Cut.EOF)


def half_a_character(got: Received) -> Reply:
    whole = first_piece(got)
    cut = whole[: whole.index("ä".encode()) + 1]
    return sse_reply(cut, Cut.EOF) if got.json.get("stream") else Reply((b'{"id":"\xc3',))


def never_ends(got: Received) -> Reply:
    if not got.json.get("stream"):
        return Reply((b"{", *[b" " * 65_536] * 2_000))
    return sse_reply(*[first_piece(got)] * ENDLESS)


OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

FAULTS: Mapping[str, Answering] = {
    "says nothing": raw(STALLS),
    "resets before its head": raw(Cut.RESET),
    "hangs up before its head": raw(Cut.EOF),
    "stops in its head": raw(b"HTTP/1.1 200 OK\r\ncontent-ty", STALLS),
    "is no HTTP": raw(b"\x00\x01\x02 what?\r\n\r\n", Cut.EOF),
    "has a head without end": raw(b"HTTP/1.1 200 OK\r\nx: ", b"x" * 1_000_000, Cut.EOF),
    "stalls after its head": lambda got: sse_reply(*played([STALLS])),
    "stalls after it began": streamed(STALLS),
    "resets after it began": streamed(Cut.RESET),
    "hangs up after it began": streamed(Cut.EOF),
    "ends in good order after it began": streamed(),
    "frames its body wrongly": raw(OK, b"zz\r\nwhat\r\n", Cut.EOF),
    "sends less than it said": claims(1_000, b'{"id":"c1"}'),
    "sends more than it said": claims(4, b'{"id":"c1","choices":[]}'),
    "says a length that is none": raw(b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n{}", Cut.EOF),
    "says two lengths": raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 9\r\n\r\n{}", Cut.EOF),
    "sends half a character": half_a_character,
    "sends an empty body": claims(0, b""),
    "sends HTML": lambda got: Reply((b"<html>Bad gateway</html>",), headers=(("content-type", "text/html"),)),
    "redirects": raw(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"),
    "never ends": never_ends,
}


WAITED_FOR = ("says nothing", "stops in its head", "stalls after its head", "stalls after it began")
"""Of an answer in one piece these take the whole time, in every dialect by the same lines: once is enough."""


WITHOUT_END = (*WAITED_FOR, "never ends")
"""Only a limit ends them. Whoever answers well has the time that a busy machine takes."""


def faults_of(way: Way, stream: bool) -> Iterator[tuple[str, Answering]]:
    for fault, does in FAULTS.items():
        if stream or way.name == "chat" or fault not in WAITED_FOR:
            yield fault, does


@pytest.mark.parametrize(("way", "stream"), EVERY_WAY, ids=named)
async def test_whatever_an_upstream_does_the_request_ends_once_and_the_next_is_answered(
    way: Way, stream: bool, tmp_path: Path
) -> None:
    async with fake_upstream(good) as upstream, running_gateway(policy_at(upstream.base), tmp_path) as gateway:
        for fault, does in faults_of(way, stream):
            upstream.scripts[:] = [does, good]
            async with limited(gateway, upstream, QUICK if fault in WITHOUT_END else {}):
                answer = await asked(gateway, way, stream)
            ended_badly_once(way, answer, fault)
            await nothing_left(gateway, upstream, fault)

            upstream.scripts[:] = [good]
            ended_well(way, await asked(gateway, way, stream), stream, fault)


@asynccontextmanager
async def limited(gateway: RunningGateway, upstream: FakeUpstream, limits: Mapping[str, str]) -> AsyncIterator[None]:
    """For as long as that; the replica, its connections and what is thought of it stay the same."""
    before = gateway.policy.read_text()
    if limits:
        gateway.policy.write_text(policy_at(upstream.base, **limits))
        await gateway.reloader.reload()
    yield
    if limits:
        gateway.policy.write_text(before)
        await gateway.reloader.reload()


async def asked(gateway: RunningGateway, way: Way, stream: bool) -> bytes:
    async with connected(gateway.port) as client:
        await client.send(way.request(stream).replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1))
        return await asyncio.wait_for(client.rest(), 10.0)


def ended_badly_once(way: Way, answer: bytes, fault: str) -> None:
    told, _, body = answer.partition(b"\r\n\r\n")
    status = int(told.split()[1])
    if status >= 500:
        assert b"application/json" in told, (fault, answer)
        assert "error" in json.loads(body), (fault, answer)
        return
    assert status == 200, (fault, answer)
    assert way.ends, f"{fault}: answered as if it were good: {answer!r}"
    ends = [word for word in way.ends for _ in re.finditer(re.escape(word), body)]
    assert len(ends) == 1, f"{fault}: ended {len(ends)} times: {answer[-2_000:]!r}"
    assert ends != [way.well], f"{fault}: looks like success: {answer[-2_000:]!r}"
    assert body.endswith(b"\r\n0\r\n\r\n"), f"{fault}: the body has no end: {answer[-200:]!r}"


def ended_well(way: Way, answer: bytes, stream: bool, fault: str) -> None:
    assert answer.startswith(b"HTTP/1.1 200 "), (fault, answer)
    assert b"error" not in answer.partition(b"\r\n\r\n")[2].replace(b'"error":null', b""), (fault, answer)
    if stream:
        assert answer.count(way.well) == 1, (fault, answer)


async def nothing_left(gateway: RunningGateway, upstream: FakeUpstream, fault: str) -> None:
    try:
        await gateway.until_empty(3.0)
        await upstream.until(lambda seen: seen.open_connections <= 1, 3.0)
    except TimeoutError:
        raise AssertionError(f"{fault}: something is left") from None
