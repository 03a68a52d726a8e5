"""What we say last is heard: a client that is still sending when we have answered gets the answer, and no reset instead."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from servers.plain_client import chat_body, connected, head
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import Until, chat_answer, fake_upstream, finish_chunk, sse_reply, text_chunk

from gateway.connection.parting import UNHEARD_BYTES

LARGE = 8_000_000
PIECE = b"x" * 1_000_000
CLOSES = b"connection: close\r\n"


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[RunningGateway]:
    limits = {"body_bytes": 1_000}
    async with (
        fake_upstream() as upstream,
        running_gateway(one_model(upstream.base), tmp_path, limits=limits) as gateway,
    ):
        yield gateway


def asked_of(port: int, first: bytes, size: int = LARGE) -> bytes:
    """The answer, for who sends all before it reads. Raises ConnectionError."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(first)
        for _ in range(size // len(PIECE)):
            client.sendall(PIECE)
        return b"".join(iter(lambda: client.recv(65_536), b""))


def told(answer: bytes) -> tuple[int, str]:
    """Status and code of a whole envelope."""
    first, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-length: %d\r\n" % len(body) in first + b"\r\n"
    return int(first.split()[1]), json.loads(body)["error"]["code"]


@pytest.mark.parametrize(
    ("first", "refused"),
    [
        (head(LARGE, CLOSES), (413, "request_too_large")),
        (head(LARGE).replace(b"host: ", b"host : "), (400, None)),
        (head(None, CLOSES) + b"%x\r\n" % LARGE, (413, "request_too_large")),
        (head(None) + b"no length\r\n", (400, None)),
    ],
    ids=["too large", "no HTTP", "too large in chunks", "no chunk"],
)
async def test_who_reads_only_when_all_is_sent_gets_the_whole_refusal(
    first: bytes, refused: tuple[int, str | None], gateway: RunningGateway
) -> None:
    answers = [await asyncio.to_thread(asked_of, gateway.port, first) for _ in range(50)]

    assert {told(answer) for answer in answers} == {refused}
    await gateway.until(lambda _: not gateway.server.server_state.connections)


async def test_a_process_that_stops_is_heard_by_who_is_still_sending(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    slow = sse_reply(text_chunk("a"), Until(go_on), finish_chunk(), b"data: [DONE]\n\n")
    async with (
        fake_upstream(slow) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
        connected(gateway.port) as inside,
    ):
        await inside.ask(chat_body(stream=True))
        await inside.until(b'"content":"a"')
        gateway.gateway.door.drain()
        answers = [await asyncio.to_thread(asked_of, gateway.port, head(LARGE)) for _ in range(10)]
        go_on.set()
        await inside.until(b"[DONE]")

    assert {told(answer) for answer in answers} == {(503, "draining")}


async def test_who_never_stops_sending_is_hung_up_on(gateway: RunningGateway) -> None:
    with pytest.raises(ConnectionError):
        await asyncio.to_thread(asked_of, gateway.port, head(10 * UNHEARD_BYTES, CLOSES), 10 * UNHEARD_BYTES)


async def test_who_never_ends_is_hung_up_on_in_time(tmp_path: Path) -> None:
    async with (
        fake_upstream() as upstream,
        running_gateway(one_model(upstream.base), tmp_path, limits={"body_bytes": 10, "body_read_s": 0.1}) as gateway,
        connected(gateway.port) as client,
    ):
        await client.send(head(1_000, CLOSES))
        answer = await asyncio.wait_for(client.rest(), 5.0)
        await gateway.until(lambda _: not gateway.server.server_state.connections)

    assert told(answer)[0] == 413


async def test_who_says_that_it_is_done_and_takes_nothing_is_hung_up_on_in_time(tmp_path: Path) -> None:
    """Its end of the connection closes ours, which waits for all that was written to be taken."""
    async with (
        fake_upstream(chat_answer("x" * LARGE)) as upstream,
        running_gateway(one_model(upstream.base), tmp_path, limits={"body_read_s": 0.1}) as gateway,
    ):
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.connect(("127.0.0.1", gateway.port))
            body = chat_body()
            client.sendall(head(len(body)) + body)
            await gateway.until(lambda _: gateway.server.server_state.total_requests == 1)
            client.shutdown(socket.SHUT_WR)
            await gateway.until(lambda _: not gateway.server.server_state.connections)
