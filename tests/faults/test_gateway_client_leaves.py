"""The client goes away: the upstream work ends at once, and nothing stays counted."""

import asyncio
from pathlib import Path

import pytest
from servers.plain_client import chat_body, connected, head
from servers.running_gateway import one_model, running_gateway
from upstreams.fake_upstream import (
    Reply,
    Until,
    fake_upstream,
    json_reply,
    sse_reply,
    text_chunk,
)


def endless() -> Reply:
    return sse_reply(text_chunk("a"), Until(asyncio.Event()))


async def test_leaving_mid_stream_closes_the_upstream_connection(tmp_path: Path) -> None:
    async with fake_upstream(endless()) as upstream, running_gateway(one_model(upstream.base), tmp_path) as gateway:
        async with connected(gateway.port) as client:
            await client.ask(chat_body(stream=True))
            await client.until(b'"content":"a"')

            client.kill()

            await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        await gateway.until_empty(1.0)


async def test_leaving_a_stream_of_the_messages_dialect_closes_the_upstream_connection(tmp_path: Path) -> None:
    body = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stream":true}'
    async with fake_upstream(endless()) as upstream, running_gateway(one_model(upstream.base), tmp_path) as gateway:
        async with connected(gateway.port) as client:
            await client.send(head(len(body), path=b"/v1/messages") + body)
            await client.until(b'"text_delta","text":"a"')

            client.kill()

            await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        await gateway.until_empty(1.0)


@pytest.mark.parametrize("stream", [True, False])
async def test_leaving_before_the_first_token_cancels_the_upstream_and_asks_nobody_else(
    stream: bool, tmp_path: Path
) -> None:
    silent = sse_reply(Until(asyncio.Event()))
    async with fake_upstream(silent) as upstream, running_gateway(one_model(upstream.base), tmp_path) as gateway:
        async with connected(gateway.port) as client:
            await client.ask(chat_body(stream=stream))
            await upstream.until(lambda seen: len(seen.received) == 1)

            client.kill()

            await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        await gateway.until_empty(1.0)
        assert len(upstream.received) == 1


async def test_leaving_while_the_body_is_sent_reaches_no_upstream(tmp_path: Path) -> None:
    async with fake_upstream() as upstream, running_gateway(one_model(upstream.base), tmp_path) as gateway:
        async with connected(gateway.port) as client:
            await client.send(b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
            await gateway.until(lambda seen: seen.door.in_flight == 1)

            client.kill()

            await gateway.until_empty(1.0)
        assert upstream.received == []


async def test_an_aborted_stream_enters_the_books_as_cancelled_with_what_was_seen(tmp_path: Path) -> None:
    async with fake_upstream(endless()) as upstream, running_gateway(one_model(upstream.base), tmp_path) as gateway:
        async with connected(gateway.port) as client:
            await client.ask(chat_body(stream=True))
            await client.until(b'"content":"a"')
            client.kill()
        await gateway.until_empty(1.0)

        page = gateway.gateway.observer.metrics_page().decode()

    cancelled = [
        line for line in page.splitlines() if line.startswith("router_requests_total") and '"cancelled"' in line
    ]
    assert sum(float(line.rpartition(" ")[2]) for line in cancelled) == 1, page
    assert 'usage_output_tokens_total{gen_ai_response_model="m"} 1.0' in page, page


async def test_a_client_that_reads_nothing_slows_only_itself(tmp_path: Path) -> None:
    flood = sse_reply(*[text_chunk("x" * 4_000) for _ in range(2_000)], Until(asyncio.Event()))
    refusal = json_reply({"error": {"message": "no"}}, 400)
    async with (
        fake_upstream(flood, refusal) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
    ):
        async with connected(gateway.port) as idle, connected(gateway.port) as other:
            await idle.ask(chat_body(stream=True))
            await upstream.until(lambda seen: len(seen.received) == 1)

            await other.ask(chat_body())

            assert await asyncio.wait_for(other.status(), 2.0) == 400
        await gateway.until_empty(2.0)


async def test_a_client_that_never_reads_is_let_go_when_its_time_is_over(tmp_path: Path) -> None:
    flood = sse_reply(*[text_chunk("x" * 60_000) for _ in range(400)], Until(asyncio.Event()))
    async with (
        fake_upstream(flood) as upstream,
        running_gateway(one_model(upstream.base, total="300ms"), tmp_path) as gateway,
        connected(gateway.port) as client,
    ):
        await client.ask(chat_body(stream=True))
        await upstream.until(lambda seen: len(seen.received) == 1)

        await gateway.until_empty(6.0)
        await upstream.until(lambda seen: seen.open_connections == 0)
