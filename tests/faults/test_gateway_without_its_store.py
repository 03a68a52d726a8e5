"""Redis is where the settings say, or not: requests are answered all the same, and shutting down does not hang."""

import asyncio
import time
from pathlib import Path

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import chat_either, fake_upstream, unused_port

from gateway.budgets.ledger import UNHEARD_GATEWAYS

BODY = {"model": "auto", "messages": [{"role": "user", "content": "A stable prompt. " * 100}]}
THREE = 70
"""Micro-dollars that three small requests fit into: 19 each once they are settled, and 29 for what the next one may come to.
That is this gateway's part, as long as it has not heard of the others."""


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


async def test_a_limit_holds_while_the_store_takes_connections_and_never_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """ST-01: neither open nor shut, alive, and told of a few times at most."""
    silent = await asyncio.start_server(lambda reader, writer: asyncio.Event().wait(), "127.0.0.1", 0)
    state = f"redis://127.0.0.1:{silent.sockets[0].getsockname()[1]}/0"
    body = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
    async with fake_upstream(chat_either("A")) as a:
        models = f"{{m: {{at: '{a.base}/v1', price: {{input: $1/M, output: $4/M}}}}}}"
        limit = f"${THREE * UNHEARD_GATEWAYS / 1e6:.6f}/day"
        policy = f"policy: 1\nmodels: {models}\nroutes: [{{use: m}}]\nbudgets: [{{per: all, limit: {limit}}}]\n"
        async with running_gateway(policy, tmp_path, state=state) as gateway, httpx.AsyncClient(timeout=10) as client:
            url = f"{gateway.base}/v1/chat/completions"
            statuses = [(await client.post(url, json=body)).status_code for _ in range(5)]
            ready = await client.get(f"{gateway.base}/readyz")
    silent.close()

    assert statuses == [200, 200, 200, 429, 429]
    assert (ready.status_code, ready.json()["state"]["shared"]) == (200, False)
    assert sum("Redis" in record.message for record in caplog.records) <= 3
