"""A request that is answered at once and one that goes by way of ASGI come to the same; connections end as they should."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from servers.plain_client import Socket, chat_body, connected, head
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import (
    DONE,
    FakeUpstream,
    Received,
    Reply,
    Script,
    chat_answer,
    fake_upstream,
    finish_chunk,
    sse_reply,
    text_chunk,
)

from gateway.connection.protocol import MOST_WAITING, READ_BYTES, BoundedProtocol
from gateway.settings import Limits

PATH = b"/v1/chat/completions"
OWN = re.compile(rb"(date|x-turnout-request-id|vary|access-control-[a-z-]+): [^\r]*\r\n|chatcmpl-\w+|\"created\":\d+")

"""What differs between two answers to the same, and what CORS tells of them."""

NOTHING = re.compile(rb"(?!)")
KEY = b"ck-0123456789abcdefghij"


def long_stream(got: Received) -> Reply:
    pieces = [text_chunk(f"{number}:" + "x" * 60_000) for number in range(200)]
    return sse_reply(*pieces, finish_chunk(), DONE)


def large_answer(got: Received) -> Reply:
    return chat_answer("x" * 30_000_000)


@pytest.fixture
def replies() -> Sequence[Script]:
    """Of the upstream, where they matter."""
    return ()


@pytest.fixture
def settings() -> Mapping[str, Any]:
    """Of the gateway, but for its keys."""
    return {}


@pytest.fixture
def keys() -> Sequence[Mapping[str, str]]:
    return ()


@pytest.fixture
async def upstream(replies: Sequence[Script]) -> AsyncIterator[FakeUpstream]:
    async with fake_upstream(*replies) as upstream:
        yield upstream


@pytest.fixture
async def gateway(
    upstream: FakeUpstream, settings: Mapping[str, Any], keys: Sequence[Mapping[str, str]], tmp_path: Path
) -> AsyncIterator[RunningGateway]:
    chosen = dict(settings)
    if keys:
        chosen["keys_file"] = tmp_path / "keys.json"
        chosen["keys_file"].write_text(json.dumps(keys))
    async with running_gateway(one_model(upstream.base), tmp_path, **chosen) as gateway:
        yield gateway


@pytest.fixture
async def client(gateway: RunningGateway) -> AsyncIterator[Socket]:
    async with connected(gateway.port) as client:
        yield client


async def answer_of(client: Socket, own: "re.Pattern[bytes]" = OWN) -> bytes:
    told = await client.until(b"\r\n\r\n")
    length = int(told.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    return own.sub(b"", told + await client.reader.readexactly(length))


@pytest.mark.parametrize(
    ("target", "extra"), [(PATH + b"?a=b", b""), (b"/v1/v1/chat/completions", b""), (PATH, b"origin: http://a\r\n")]
)
@pytest.mark.parametrize("body", [chat_body(), b"{", b"", b'{"model":"nobody","messages":[]}'])
@pytest.mark.parametrize("settings", [{"cors_origins": ("http://b",)}])
async def test_both_ways_in_come_to_the_same(target: bytes, extra: bytes, body: bytes, client: Socket) -> None:
    answers = []
    for way, more in ((PATH, b""), (target, extra)):
        await client.send(head(len(body), more).replace(PATH, way, 1) + body)
        answers.append(await answer_of(client))

    assert answers[0] == answers[1]


@pytest.mark.parametrize("settings", [{"cors_origins": ("http://a",)}])
async def test_a_page_of_an_allowed_origin_may_read_the_answer(client: Socket) -> None:
    await client.ask(chat_body(), b"origin: http://a\r\n")
    allowed = await answer_of(client, NOTHING)
    await client.ask(chat_body())
    plain = await answer_of(client, NOTHING)

    assert b"access-control-allow-origin: http://a\r\n" in allowed
    assert b"access-control" not in plain


@pytest.mark.parametrize("keys", [[{"hash": sha256(KEY).hexdigest(), "tenant": "a"}]])
async def test_what_comes_behind_a_body_opens_no_door_for_the_next_request(
    client: Socket, upstream: FakeUpstream
) -> None:
    body = chat_body()
    trailed = b"%x\r\n%b\r\n0\r\nauthorization: Bearer %b\r\n\r\n" % (len(body), body, KEY)
    await client.send(head(None) + trailed)
    first = await answer_of(client)
    await client.ask(body)
    second = await answer_of(client)

    assert (first.split()[1], second.split()[1]) == (b"401", b"401")
    assert upstream.received == []


async def test_requests_sent_together_are_answered_in_their_order(client: Socket) -> None:
    wires = [chat_body(), b"{", chat_body(), b"[]"]
    await client.send(b"".join([head(len(body)) + body for body in wires]))
    statuses = [(await answer_of(client)).split()[1] for _ in wires]

    assert statuses == [b"200", b"400", b"200", b"400"]


async def test_who_asks_for_the_end_of_the_connection_gets_it_behind_the_answer(client: Socket) -> None:
    await client.ask(chat_body(), b"connection: close\r\n")
    answer = await asyncio.wait_for(client.rest(), 2.0)

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"connection: close\r\n" in answer


async def test_a_look_at_a_page_is_its_head_alone(client: Socket) -> None:
    await client.send(
        b"HEAD /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    )
    looked = await client.until(b"\r\n\r\n")
    read = await answer_of(client)

    assert b"content-length: 15\r\n" in looked
    assert read.startswith(b"HTTP/1.1 200 OK\r\n")
    assert read.endswith(b'{"status":"ok"}')


@pytest.mark.parametrize("replies", [[long_stream]])
async def test_who_reads_late_gets_all_of_a_stream_that_was_held_up_for_it(
    client: Socket, gateway: RunningGateway
) -> None:
    await client.ask(chat_body(stream=True), b"connection: close\r\n")
    callers = gateway.server.server_state.connections
    await gateway.until(lambda _: any(line.is_full for line in callers if isinstance(line, BoundedProtocol)))
    answer = await asyncio.wait_for(client.rest(), 20.0)

    assert [b'"%d:x' % number in answer for number in range(200)] == [True] * 200
    assert answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


async def test_who_sends_requests_by_the_thousand_without_waiting_is_hung_up_on(client: Socket) -> None:
    one = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    await client.send(one * (20 * MOST_WAITING))
    with contextlib.suppress(ConnectionResetError):  # what it sent is left unread
        await asyncio.wait_for(client.rest(), 5.0)


async def test_a_target_that_is_none_behind_a_request_does_not_spoil_its_answer(client: Socket) -> None:
    body = chat_body()
    await client.send(head(len(body)) + body + b"GET http://h:99999/x HTTP/1.1\r\nhost: h\r\n\r\n")
    answer = await asyncio.wait_for(client.rest(), 5.0)

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"framed" not in answer


@pytest.mark.parametrize("part", [b"a: " + b"x" * 65_536, b"x" * 65_536])
async def test_what_comes_behind_a_body_is_bounded(part: bytes, client: Socket) -> None:
    body = chat_body()
    await client.send(head(None) + b"%x\r\n%b\r\n0\r\nt: " % (len(body), body))
    sent = 0
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(10.0):
            while sent < 64 * READ_BYTES:
                await client.send(part)
                sent += len(part)
                await asyncio.sleep(0)

    assert sent < 64 * READ_BYTES


@pytest.mark.parametrize("settings", [{"limits": Limits(body_read_s=0.2)}])
@pytest.mark.parametrize("replies", [[large_answer]])
async def test_who_takes_nothing_of_its_last_answer_does_not_keep_its_connection(
    client: Socket, gateway: RunningGateway
) -> None:
    await client.ask(chat_body(), b"connection: close\r\n")
    await client.until(b"\r\n\r\n")
    async with asyncio.timeout(10.0):
        while gateway.server.server_state.connections:  # noqa: ASYNC110  nobody announces it
            await asyncio.sleep(0.02)


async def test_a_client_of_the_old_version_is_not_told_to_go_on(client: Socket, gateway: RunningGateway) -> None:
    body = chat_body()
    asked = head(len(body), b"expect: 100-continue\r\n").replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    await client.send(asked)
    await gateway.until(lambda found: found.door.in_flight > 0)
    await client.send(body)
    answer = await asyncio.wait_for(client.rest(), 5.0)

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("version", [b"0.9", b"2.0", b"1.2"])
async def test_other_versions_are_refused(version: bytes, client: Socket) -> None:
    await client.send(b"GET /healthz HTTP/%b\r\n\r\n" % version)
    answer = await asyncio.wait_for(client.rest(), 5.0)

    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
