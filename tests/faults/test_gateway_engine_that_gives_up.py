"""An engine that cannot be built: clients get 503 with the reason, /readyz has it, and whoever reads the policy again is
told at once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from engine.stub_models import StubVocabulary
from servers.in_process import engine_of, gateway_around
from servers.plain_client import chat_body
from servers.running_gateway import RunningGateway

from backends.engine.batch import Batch
from backends.engine.thread.restart import Restart
from backends.engine.upstream.local import LocalUpstream
from gateway.control.health import health_of
from gateway.live.in_force import GaveUp, Live

AT_ONCE = Restart(first_s=0.0, most_s=0.0)
WHY = f"given up after {AT_ONCE.builds} tries: ValueError: layers.3.q has 7 rows"


def never_built() -> Batch:
    raise ValueError("layers.3.q has 7 rows")


@pytest.fixture
def upstream() -> LocalUpstream:
    return engine_of(never_built, StubVocabulary(), restart=AT_ONCE)


@pytest.fixture
async def gateway(upstream: LocalUpstream, tmp_path: Path) -> AsyncIterator[RunningGateway]:
    async with gateway_around(upstream, tmp_path) as running:
        await running.until(lambda _: upstream.load().gave_up)
        yield running


async def test_clients_and_probers_get_503_with_the_reason(gateway: RunningGateway) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{gateway.base}/v1/chat/completions", content=chat_body())
        ready = await client.get(f"{gateway.base}/readyz")

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert WHY in answer.json()["error"]["message"]
    assert ready.status_code == 503
    assert [replica["why_not"] for replica in ready.json()["models"]["m"]] == [WHY]


async def test_nobody_says_that_it_is_on_its_way(gateway: RunningGateway) -> None:
    assert health_of(gateway.gateway).why_not == "no replica is ready"
    assert all(replica.failed for replica in gateway.gateway.live)
    assert not any(replica.is_loading for replica in gateway.gateway.live)


async def test_a_policy_that_names_it_is_refused_at_once_with_the_reason(gateway: RunningGateway) -> None:
    live = gateway.gateway.live
    again = Live(live.policy, live.replicas)

    with pytest.raises(GaveUp, match=r"m: given up after .*layers\.3\.q has 7 rows"):
        await asyncio.wait_for(again.open(within_s=60), 5)
