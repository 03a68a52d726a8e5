"""What is no HTTP, or no whole request, is refused in the envelope, and never talks into an answer under way."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from servers.plain_client import chat_body, connected, head
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import Until, fake_upstream, finish_chunk, sse_reply, text_chunk

BODY = chat_body()
STREAM = chat_body(stream=True)


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[RunningGateway]:
    limits = {"head_read_s": 0.2, "body_read_s": 0.3}
    async with (
        fake_upstream() as upstream,
        running_gateway(one_model(upstream.base), tmp_path, limits=limits) as gateway,
    ):
        yield gateway


def smuggled(*framing: bytes) -> bytes:
    return b"\r\n".join([b"POST /v1/chat/completions HTTP/1.1", b"host: localhost", *framing, b"", BODY])


@pytest.mark.parametrize(
    "wire",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost : localhost\r\n\r\n",
        smuggled(b"content-length: 5", b"content-length: 6"),
        smuggled(b"content-length: 5", b"transfer-encoding: chunked"),
        smuggled(b"content-length: -1"),
        smuggled(b"content-length: 1e2"),
        smuggled(b"transfer-encoding: gzip, identity"),
    ],
)
async def test_what_is_no_http_gets_the_envelope_and_the_end_of_its_connection(
    wire: bytes, gateway: RunningGateway
) -> None:
    async with connected(gateway.port) as client:
        await client.send(wire)
        answer = await asyncio.wait_for(client.rest(), 2.0)

    told, _, body = answer.partition(b"\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 400 "), answer
    assert b"content-type: application/json" in told
    assert b"connection: close" in told
    assert body.startswith(b'{"error":{"message":"')
    assert b'"type":"invalid_request_error"' in body


async def test_the_envelope_is_the_one_of_the_dialect_that_was_asked_for(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.send(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nno colon\r\n\r\n")
        answer = await asyncio.wait_for(client.rest(), 2.0)

    assert b'{"type":"error","error":{"type":"invalid_request_error"' in answer


async def test_a_body_that_is_not_framed_as_its_head_says_reaches_nobody(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.send(head(None) + b'5\r\n{"mod\r\nnot a length\r\n')
        answer = await asyncio.wait_for(client.rest(), 2.0)

    assert answer.startswith(b"HTTP/1.1 400 "), answer
    assert answer.count(b"HTTP/1.1") == 1
    await gateway.until_empty(1.0)


async def test_rubbish_behind_a_request_does_not_spoil_its_answer(tmp_path: Path) -> None:
    go_on = asyncio.Event()
    slow = sse_reply(text_chunk("a"), Until(go_on), text_chunk("b"), finish_chunk(), b"data: [DONE]\n\n")
    async with (
        fake_upstream(slow) as upstream,
        running_gateway(one_model(upstream.base), tmp_path, limits={"head_read_s": 0.05}) as gateway,
        connected(gateway.port) as client,
    ):
        await client.send(head(len(STREAM)) + STREAM + b"\x00\x01 rubbish\r\n\r\n")
        await client.until(b'"content":"a"')
        await asyncio.sleep(0.15)
        go_on.set()
        rest = await asyncio.wait_for(client.rest(), 2.0)

    assert b'"content":"b"' in rest
    assert rest.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"), rest
    assert b"HTTP/1.1" not in rest


async def test_the_line_end_that_old_clients_send_behind_a_body_ends_no_stream(tmp_path: Path) -> None:
    """RFC 9112 section 2.2: an empty line before a request line is passed over."""
    go_on = asyncio.Event()
    slow = sse_reply(text_chunk("a"), Until(go_on), finish_chunk(), b"data: [DONE]\n\n")
    async with (
        fake_upstream(slow) as upstream,
        running_gateway(one_model(upstream.base), tmp_path, limits={"head_read_s": 0.05}) as gateway,
        connected(gateway.port) as client,
    ):
        await client.send(head(len(STREAM)) + STREAM + b"\r\n")
        await client.until(b'"content":"a"')
        await asyncio.sleep(0.15)
        go_on.set()

        await asyncio.wait_for(client.until(b"data: [DONE]\n\n\r\n0\r\n\r\n"), 2.0)


@pytest.mark.parametrize("said", [b"POST / HT", b"POST / HTTP/1.1\r\nhost: h\r\nx-a: b\r\n"])
async def test_a_head_that_does_not_end_is_told_so(said: bytes, gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.send(said)
        answer = await asyncio.wait_for(client.rest(), 3.0)

    assert answer.startswith(b"HTTP/1.1 408 "), answer
    assert b'"code":"request_timeout"' in answer


async def test_who_says_nothing_is_told_nothing(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        assert await asyncio.wait_for(client.rest(), 3.0) == b""


async def test_a_head_that_drips_gets_no_more_time_than_one_that_stands_still(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        dripping = asyncio.create_task(drip(client.writer, b"POST / HTTP/1.1\r\nx: " + b"x" * 4_000))
        answer = await asyncio.wait_for(client.rest(), 2.0)
        dripping.cancel()

    assert answer.startswith(b"HTTP/1.1 408 "), answer


async def drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    for byte in data:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("extra", [b"", b"connection: keep-alive\r\n"])
async def test_a_client_of_http_1_0_gets_its_stream_without_chunks_and_its_end_with_the_connections(
    extra: bytes, gateway: RunningGateway
) -> None:
    """RFC 9112 section 6.1: no transfer coding is sent to who does not know of any."""
    asked = head(len(STREAM), extra).replace(b"HTTP/1.1", b"HTTP/1.0") + STREAM

    async with connected(gateway.port) as socket:
        await socket.send(asked)
        answer = await asyncio.wait_for(socket.reader.read(), 5)

    first, _, body = answer.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in first.lower()
    assert body.startswith(b"data: {")
    assert body.endswith(b"}\n\ndata: [DONE]\n\n")


async def test_a_client_of_http_1_0_gets_a_whole_answer_with_its_length(gateway: RunningGateway) -> None:
    asked = head(len(BODY)).replace(b"HTTP/1.1", b"HTTP/1.0") + BODY

    async with connected(gateway.port) as socket:
        await socket.send(asked)
        answer = await asyncio.wait_for(socket.reader.read(), 5)

    first, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-length: %d\r\n" % len(body) in first
    assert json.loads(body)["choices"]
