"""Redis is where the settings say, or not: requests are answered all the same, and shutting down does not hang."""

import asyncio
import time
from pathlib import Path

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import chat_either, fake_upstream, unused_port

BODY = {"model": "auto", "messages": [{"role": "user", "content": "A stable prompt. " * 100}]}


@pytest.mark.parametrize("store", ["nobody listens", "never answers"])
async def test_a_dead_store_stops_nothing_and_slows_little(store: str, tmp_path: Path) -> None:
    silent = await asyncio.start_server(lambda reader, writer: asyncio.Event().wait(), "127.0.0.1", 0)
    port = unused_port() if store == "nobody listens" else silent.sockets[0].getsockname()[1]
    async with fake_upstream(chat_either("A")) as a, fake_upstream(chat_either("B")) as b:
        policy = f"policy: 1\nmodels: {{m: {{at: ['{a.base}/v1', '{b.base}/v1']}}}}\nroutes: [{{use: m}}]\n"
        async with (
            running_gateway(policy, tmp_path, state=f"redis://127.0.0.1:{port}/0") as gateway,
            httpx.AsyncClient(timeout=10) as client,
        ):
            url = f"{gateway.base}/v1/chat/completions"
            began = time.perf_counter()
            statuses = [(await client.post(url, json=BODY)).status_code for _ in range(20)]
            took_s = time.perf_counter() - began

        calls = sorted([len(a.received), len(b.received)])
    silent.close()

    assert statuses == [200] * 20
    assert calls == [0, 20]
    assert took_s < 5
