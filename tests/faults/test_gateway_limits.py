"""Each bound on what one request or one connection may cost: the last that passes, the first that does not, and its status."""

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from servers.plain_client import Socket, connected, head
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import FakeUpstream, Reply, chat_answer, fake_upstream

LIMITS: dict[str, Any] = {"headers": 8, "messages": 3, "tools": 2, "images": 2, "choices": 2, "json_depth": 12}


@asynccontextmanager
async def limited(folder: Path, **limits: Any) -> AsyncIterator[tuple[RunningGateway, FakeUpstream]]:
    async with (
        fake_upstream() as upstream,
        running_gateway(one_model(upstream.base), folder, limits=limits) as gateway,
    ):
        yield gateway, upstream


def image() -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def chat(**fields: Any) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}).encode()


def many(what: str, count: int) -> bytes:
    if what == "messages":
        return chat(messages=[{"role": "user", "content": "hi"}] * count)
    if what == "tools":
        return chat(tools=[tool(f"f{n}") for n in range(count)])
    if what == "images":
        return chat(messages=[{"role": "user", "content": [image()] * count}])
    return chat(n=count)


async def told(client: Socket) -> Any:
    answer = await client.until(b"\r\n\r\n")
    length = int(answer.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    return int(answer.split()[1]), json.loads(await client.reader.readexactly(length))


@pytest.mark.parametrize(
    ("what", "limit", "param"),
    [
        ("messages", "messages", "messages"),
        ("tools", "tools", "tools"),
        ("images", "images", "messages"),
        ("answers", "choices", "n"),
    ],
)
async def test_a_request_holds_so_much_and_no_more(what: str, limit: str, param: str, tmp_path: Path) -> None:
    async with limited(tmp_path, **LIMITS) as (gateway, upstream), connected(gateway.port) as client:
        await client.ask(many(what, LIMITS[limit]))
        first, _ = await told(client)
        await client.ask(many(what, LIMITS[limit] + 1))
        second, refused = await told(client)

        assert (first, second) == (200, 400)
        assert refused["error"]["param"] == param
        assert f"{LIMITS[limit] + 1} {what}; {LIMITS[limit]}" in refused["error"]["message"]
        assert len(upstream.received) == 1


async def test_headers_are_counted(tmp_path: Path) -> None:
    async with limited(tmp_path, **LIMITS) as (gateway, upstream), connected(gateway.port) as client:
        own = 2  # host and content-length
        await client.ask(chat(), b"".join(b"x-%d: y\r\n" % n for n in range(LIMITS["headers"] - own)))
        first, _ = await told(client)
        await client.ask(chat(), b"".join(b"x-%d: y\r\n" % n for n in range(LIMITS["headers"] - own + 1)))
        second, refused = await told(client)

        assert (first, second, refused["error"]["code"]) == (200, 431, "headers_too_large")
        assert len(upstream.received) == 1


async def test_a_body_that_keeps_its_rate_has_all_the_time_it_needs(tmp_path: Path) -> None:
    """Eight parts, each within the time that the one before has earned; a total limit would have cut them."""
    body = chat().ljust(800)
    async with (
        limited(tmp_path, body_read_s=0.15, body_bytes_per_s=1_000) as (gateway, _),
        connected(gateway.port) as client,
    ):
        await client.send(head(len(body)))
        for start in range(0, len(body), 100):
            await client.send(body[start : start + 100])
            await asyncio.sleep(0.06)

        assert await client.status() == 200


async def test_a_body_that_drips_is_given_up(tmp_path: Path) -> None:
    async with limited(tmp_path, body_read_s=0.15, body_bytes_per_s=1_000) as (gateway, upstream):
        async with connected(gateway.port) as client:
            await client.send(head(10_000))
            dripping = asyncio.create_task(drip(client, b"{" * 10_000))
            status, refused = await asyncio.wait_for(told(client), 3.0)
            dripping.cancel()

        assert (status, refused["error"]["type"]) == (408, "timeout_error")
        assert upstream.received == []
        await gateway.until_empty(1.0)


async def drip(client: Socket, data: bytes) -> None:
    for byte in data:
        client.writer.write(bytes([byte]))
        await asyncio.sleep(0.01)


async def test_who_asks_first_whether_to_send_its_body_is_told_by_the_head_alone(tmp_path: Path) -> None:
    """curl asks so before a body of more than a megabyte."""
    expects = b"expect: 100-continue\r\n"
    async with limited(tmp_path, body_bytes=1_000) as (gateway, _):
        async with connected(gateway.port) as welcome:
            await welcome.send(head(len(chat()), expects))
            assert b" 100 " in await asyncio.wait_for(welcome.until(b"\r\n\r\n"), 2.0)
            await welcome.send(chat())
            assert await welcome.status() == 200
        async with connected(gateway.port) as unwelcome:
            await unwelcome.send(head(1_001, expects))
            assert await asyncio.wait_for(unwelcome.status(), 2.0) == 413


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, gzip"])
async def test_a_packed_body_is_refused_by_its_head_however_small_it_is(coding: str, tmp_path: Path) -> None:
    bomb = gzip.compress(b"[" * 10_000_000)
    async with limited(tmp_path) as (gateway, upstream), connected(gateway.port) as client:
        await client.ask(bomb, b"content-encoding: " + coding.encode() + b"\r\n")
        status, refused = await told(client)

        assert (status, refused["error"]["code"]) == (415, "unsupported_encoding")
        assert upstream.received == []


async def test_one_connection_too_many_is_turned_away_and_the_next_finds_room(tmp_path: Path) -> None:
    async with limited(tmp_path, connections=2) as (gateway, _):
        async with AsyncExitStack() as stack:
            held = [await stack.enter_async_context(connected(gateway.port)) for _ in range(2)]
            for client in held:
                await client.ask(chat())
                assert (await told(client))[0] == 200
            late = await stack.enter_async_context(connected(gateway.port))
            await late.ask(chat())
            status, refused = await told(late)
            over = await asyncio.wait_for(late.rest(), 2.0)

        await gateway.until(lambda _: not gateway.server.server_state.connections)
        async with connected(gateway.port) as client:
            await client.ask(chat())
            assert (await told(client))[0] == 200

    assert (status, refused["error"]["code"], over) == (503, "too_many_connections", b"")


def packed(body: bytes, coding: str) -> Reply:
    data = gzip.compress(body) if coding == "gzip" else zlib.compress(body)
    return Reply(
        (data,), headers=(("content-type", "application/json"), ("content-encoding", coding)), framing="length"
    )


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize("accepts", [b"", b"accept-encoding: gzip\r\n", b"accept-encoding: identity\r\n"])
async def test_a_packed_answer_reaches_the_client_plain_with_its_own_length(
    coding: str, accepts: bytes, tmp_path: Path
) -> None:
    answer = packed(b"".join(step for step in chat_answer("unpacked").steps if isinstance(step, bytes)), coding)
    async with (
        fake_upstream(answer) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
        connected(gateway.port) as client,
    ):
        await client.ask(chat(), accepts)
        first = await client.until(b"\r\n\r\n")
        length = int(first.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        body = json.loads(await client.reader.readexactly(length))

    assert body["choices"][0]["message"]["content"] == "unpacked"
    assert b"content-encoding" not in first.lower()


async def test_an_answer_that_unpacks_without_end_is_a_bad_answer(tmp_path: Path) -> None:
    bomb = packed(b" " * 80_000_000, "gzip")
    async with (
        fake_upstream(bomb) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
        connected(gateway.port) as client,
    ):
        await client.ask(chat())
        status, refused = await asyncio.wait_for(told(client), 10.0)

    assert (status, refused["error"]["code"]) == (502, "upstream_bad_answer")
