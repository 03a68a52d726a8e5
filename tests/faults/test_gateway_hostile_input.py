"""Hostile bytes: each gets a clear refusal, and the gateway goes on."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers.plain_client import Socket, chat_body, connected, head
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import fake_upstream

from gateway.errors import BadRequest
from gateway.request.ingress import refuse_deep

KEYS = '[{"hash": "' + "ab" * 32 + '", "tenant": "t"}]'


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[RunningGateway]:
    limits = {"body_bytes": 1024, "body_read_s": 0.2, "head_read_s": 0.3, "max_in_flight": 4}
    async with (
        fake_upstream() as upstream,
        running_gateway(one_model(upstream.base), tmp_path, limits=limits) as gateway,
    ):
        yield gateway


async def test_the_body_limit_is_exact_with_a_declared_length(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.ask(chat_body().ljust(1024))

        assert await client.status() == 200


async def test_a_declared_length_beyond_the_limit_is_refused_by_its_head(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.send(head(1025))

        answer = await asyncio.wait_for(client.until(b"}}"), 0.5)

    assert b" 413 " in answer
    assert b'"code":"request_too_large"' in answer
    assert b"1024" in answer


async def test_a_chunked_body_is_counted_as_it_comes(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.send(head(None) + b"401\r\n" + chat_body().ljust(1025) + b"\r\n0\r\n\r\n")

        assert await client.status() == 413


async def test_a_body_that_never_comes_is_given_up(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.send(head(100) + b'{"model":')

        answer = await asyncio.wait_for(client.until(b"}}"), 2.0)

    assert b" 408 " in answer
    assert b'"type":"timeout_error"' in answer
    await gateway.until_empty(1.0)


async def test_a_body_that_was_refused_does_not_hold_its_connection_for_ever(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.send(head(1025))

        answer = await asyncio.wait_for(client.rest(), 3.0)

    assert b" 413 " in answer


OFFERS = [
    b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQ\r\n",
    b"connection: upgrade\r\nupgrade: websocket\r\n",
]


@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("cut", [0, 30, 130, -300, -20])
async def test_an_offer_to_upgrade_is_passed_over_with_nothing_lost(
    gateway: RunningGateway, offer: bytes, cut: int
) -> None:
    """Java's HttpClient offers h2c with every first request, also with a POST that has a body."""
    body = chat_body().ljust(400)
    wire = head(len(body), offer) + body
    async with connected(gateway.port) as client:
        for part in (wire[:cut], wire[cut:], head(len(body)) + body):
            await client.send(part)
        statuses = [await client.status()]
        await client.until(b"}}")
        statuses.append(await client.status())

    assert statuses == [200, 200]


async def test_a_second_request_on_a_connection_may_take_its_time_but_not_for_ever(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.ask(chat_body())
        await client.until(b"}}")
        await asyncio.sleep(0.4)
        await client.ask(chat_body())
        await client.until(b"}}")
        await client.send(b"POST")

        assert b" 408 " in await asyncio.wait_for(client.rest(), 3.0)


async def test_one_header_without_an_end_does_not_fill_the_memory(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.send(b"POST / HTTP/1.1\r\nx: ")

        with pytest.raises(ConnectionError):
            await flood(client)


async def flood(client: Socket) -> None:
    """To the end of its connection: the system may take all of it before anybody reads."""
    for _ in range(64):
        await client.send(b"x" * 65_536)
    await asyncio.wait_for(client.rest(), 5.0)


async def test_too_many_at_once_are_turned_away_with_a_time(gateway: RunningGateway) -> None:
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(half_request(gateway)) for _ in range(4)]
        await gateway.until(lambda seen: seen.door.in_flight == 4)

        async with connected(gateway.port) as client:
            await client.ask(chat_body())
            answer = await client.until(b"}}")
        for task in waiting:
            task.cancel()

    assert b" 429 " in answer
    assert b"retry-after: 1" in answer


async def half_request(gateway: RunningGateway) -> None:
    async with connected(gateway.port) as client:
        await client.send(head(100))
        await client.rest()


@pytest.mark.parametrize("host", [b"a/b", b"a?b", b"a#b", b"a@b", b"a\\b"])
async def test_a_host_that_is_no_host_is_refused(gateway: RunningGateway, host: bytes) -> None:
    body = chat_body()
    async with connected(gateway.port) as client:
        await client.send(head(len(body), host=host) + body)

        assert await client.status() == 400


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET /healthz", 200),
        (b"GET /readyz", 403),
        (b"GET /metrics", 403),
        (b"GET /v1/models", 403),
        (b"GET /v1/models/m", 403),
        (b"POST /v1/route", 403),
        (b"POST /v1/chat/completions", 403),
    ],
)
async def test_a_page_that_gave_us_its_own_name_gets_nothing(gateway: RunningGateway, line: bytes, status: int) -> None:
    body = chat_body()
    async with connected(gateway.port) as client:
        await client.send(line + b" HTTP/1.1\r\nhost: evil.example\r\ncontent-length: %d\r\n\r\n" % len(body) + body)

        assert await client.status() == status


@pytest.mark.parametrize("hosts", [[], [b"a", b"b"], [b"a", b"a"]])
async def test_there_is_one_host(gateway: RunningGateway, hosts: list[bytes]) -> None:
    body = chat_body()
    lines = [b"POST /v1/chat/completions HTTP/1.1", *[b"host: " + host for host in hosts]]
    async with connected(gateway.port) as client:
        await client.send(b"\r\n".join([*lines, b"content-length: %d" % len(body), b"", body]))

        assert await client.status() == 400


@pytest.mark.parametrize(
    "body",
    [
        chat_body(model="x" * 900),
        b'{"model":"m","messages":[{"role":"' + b"x" * 900 + b'","content":"hi"}]}',
    ],
)
async def test_what_was_wrong_is_not_sent_back_at_length(gateway: RunningGateway, body: bytes) -> None:
    async with connected(gateway.port) as client:
        await client.ask(body)
        answer = await client.until(b"}}")

    assert b" 400 " in answer
    assert len(answer) < 900


@pytest.mark.parametrize(
    "value",
    [b"Bearer ' OR 1=1 --", b"Bearer " + b"x" * 60_000, b"Bearer \xff\xfe", b"Basic abc", b"Bearer", b"Bearer  "],
)
async def test_any_wrong_key_gets_an_answer_of_one_shape(value: bytes, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(KEYS)
    limits = {"header_bytes": 100_000}
    async with (
        fake_upstream() as upstream,
        running_gateway(one_model(upstream.base), tmp_path, keys_file=keys, limits=limits) as gateway,
        connected(gateway.port) as client,
    ):
        await client.ask(chat_body(), b"authorization: " + value + b"\r\n")
        answer = await client.until(b"}}")

        assert upstream.received == []

    assert b" 401 " in answer
    assert b'"code":"invalid_api_key"' in answer
    assert value.strip() not in answer or len(value) < 10


async def test_a_nul_in_a_header_is_refused_by_the_parser(gateway: RunningGateway) -> None:
    body = chat_body()
    async with connected(gateway.port) as client:
        await client.ask(body, b"authorization: Bearer a\x00b\r\n")

        assert await client.status() == 400


@pytest.mark.parametrize(
    "body", [b"\x00", b"\xff\xfe", b'"', b"{" * 900, b"[" * 900, b"nul", b"1e999", b'{"model":"\\ud800"}']
)
async def test_a_body_of_anything_is_a_400(gateway: RunningGateway, body: bytes) -> None:
    async with connected(gateway.port) as client:
        await client.ask(body)

        assert await client.status() == 400


@given(st.binary(max_size=300))
def test_the_depth_check_never_fails_on_bytes(body: bytes) -> None:
    refuse_deep(body, 300)


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@given(depth=st.integers(1, 40), limit=st.integers(1, 40))
def test_depth_is_refused_exactly_beyond_the_limit(depth: int, limit: int) -> None:
    if depth <= limit:
        refuse_deep(nested(depth), limit)
    else:
        with pytest.raises(BadRequest):
            refuse_deep(nested(depth), limit)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet='[]{}"\\a', max_size=60))
def test_brackets_inside_strings_do_not_count(text: str) -> None:
    refuse_deep(json.dumps([text] * 3).encode(), 1)


def test_a_megabyte_of_brackets_takes_no_time_to_refuse() -> None:
    began = time.perf_counter()
    for deep in (b"[" * 1_000_000, b"[" * 500_000 + b"]" * 500_000):
        with pytest.raises(BadRequest):
            refuse_deep(deep, 64)
    refuse_deep(b"[" * 60 + b"[[]]," * 200_000 + b"]" * 60, 64)

    assert time.perf_counter() - began < 0.5
