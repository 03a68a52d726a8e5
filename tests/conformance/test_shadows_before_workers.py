"""Shadows at a worker: behind every request there too, and in no load; of anybody but a gateway the header means nothing."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest
from servers.running_gateway import running_gateway
from servers.stub_workers import ask, heard, worker
from upstreams.fake_upstream import chat_either, fake_upstream

from backends.messages import ChatRequest
from gateway.request.identity import Principal
from gateway.request.reading.carried import SHADOW_HEADER, behind_others


def policy(primary: str, at: str) -> str:
    return json.dumps(
        {
            "policy": 1,
            "models": {"m": {"at": f"{primary}/v1"}, "b": {"at": at, "worker": True, "serves": "m"}},
            "routes": [{"name": "chat", "use": "m"}],
            "shadows": [{"name": "s", "of": "m", "to": "b", "sample": "100%", "compare": ["exact"]}],
        }
    )


async def test_a_shadow_at_a_worker_is_in_no_load_while_it_runs_there(tmp_path: Path) -> None:
    async with (
        fake_upstream(chat_either("fine")) as primary,
        worker(tmp_path / "a") as a,
        running_gateway(policy(primary.base, a.at), tmp_path) as gateway,
        httpx.AsyncClient(timeout=20) as client,
    ):
        there = next(replica for replica in gateway.gateway.live if replica.model == "b")
        await gateway.until(lambda _: heard(there))
        engine, shadows, seen, uses = a.upstream.engine, gateway.gateway.shadows, set(), False
        a.model.step_s = 0.02
        await ask(client, gateway)
        async with asyncio.timeout(10):
            while not shadows.chapters["s"].results:
                own, told = engine.load(), there.load()
                uses = uses or own.free_blocks < own.total_blocks
                seen.add(
                    (own.running, own.waiting, own.queued_tokens, told.running, told.queued_tokens, told.active_tokens)
                )
                await asyncio.sleep(0.002)

    assert shadows.chapters["s"].results == {"compared": 1}
    assert uses, "it was seen while it ran"
    assert seen == {(0, 0, 0, 0, 0, 0)}


@pytest.mark.parametrize("relayed", [True, False])
def test_only_a_gateway_speaks_for_work_that_gives_way(relayed: bool) -> None:
    request = ChatRequest(raw=b"{}", model="m", messages=())
    caller = Principal(tenant="t", salt=b"", is_relayed=relayed)

    assert behind_others(request, {SHADOW_HEADER: "true"}, caller).gives_way is relayed
    assert behind_others(request, {}, caller) is request
