"""W3C trace context goes in and comes out, and nothing else of the client's head does."""

from pathlib import Path

import httpx
import pytest
from servers.running_gateway import one_model, running_gateway
from upstreams.fake_upstream import chat_either, fake_upstream

from gateway.settings import Telemetry

TRACE = "0af7651916cd43dd8448eb211c80319c"
BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


async def test_the_upstream_gets_our_span_of_the_clients_trace(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    traced = Telemetry(log="off", traces="console")
    async with (
        fake_upstream(chat_either("ok")) as upstream,
        running_gateway(one_model(upstream.base), tmp_path, telemetry=traced) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        headers = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "x-secret": "s"}
        await client.post(f"{gateway.base}/v1/chat/completions", json=BODY, headers=headers)

        sent = upstream.last.header("traceparent") or ""

    assert sent.split("-")[1] == TRACE
    assert sent.split("-")[2] != "b7ad6b7169203331"
    assert upstream.last.header("x-secret") is None
    assert TRACE in capfd.readouterr().err


async def test_without_traces_the_upstream_gets_no_context(tmp_path: Path) -> None:
    async with (
        fake_upstream(chat_either("ok")) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        await client.post(f"{gateway.base}/v1/chat/completions", json=BODY)

    assert upstream.last.header("traceparent") is None
