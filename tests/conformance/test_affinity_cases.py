"""AFF-01, AFF-02, AFF-03 and AFF-05 over sockets: which of several servers gets a prompt, while others have work."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from servers.running_gateway import RunningGateway, running_gateway
from servers.stub_workers import PROMPT, believed, replicas
from upstreams.fake_upstream import FakeUpstream, chat_either, fake_upstream

from gateway.live.replicas import Claim


@contextlib.asynccontextmanager
async def fleet(
    count: int, folder: Path
) -> AsyncIterator[tuple[RunningGateway, httpx.AsyncClient, list[FakeUpstream]]]:
    async with contextlib.AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(fake_upstream(chat_either("A"))) for _ in range(count)]
        at = ", ".join(f"'{server.base}/v1'" for server in servers)
        policy = f"policy: 1\nmodels: {{m: {{at: [{at}]}}}}\nroutes: [{{use: m}}]\naffinity: {{spill_after: 4}}\n"
        gateway = await stack.enter_async_context(running_gateway(policy, folder))
        yield gateway, await stack.enter_async_context(httpx.AsyncClient(timeout=10)), servers


@contextlib.contextmanager
def in_flight(gateway: RunningGateway, server: FakeUpstream, count: int) -> Iterator[None]:
    """So many requests that were sent to the server, and are answering."""
    [there] = [replica for replica in replicas(gateway) if server.base in replica.name]
    claims = [Claim(there, tokens=10) for _ in range(count)]
    for claim in claims:
        claim.prefilled()
    try:
        yield
    finally:
        for claim in claims:
            claim.release()


async def asked(gateway: RunningGateway, client: httpx.AsyncClient, servers: list[FakeUpstream], text: str) -> int:
    """Which server got it."""
    before = [len(server.received) for server in servers]
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    answer = await client.post(f"{gateway.base}/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    [got] = [n for n, server in enumerate(servers) if len(server.received) > before[n]]
    return got


async def test_aff_01_a_prefix_spills_past_the_threshold_and_lies_at_both_then(tmp_path: Path) -> None:
    async with fleet(2, tmp_path) as (gateway, client, servers):
        home = await asked(gateway, client, servers, PROMPT)
        with in_flight(gateway, servers[home], 3):
            below = await asked(gateway, client, servers, PROMPT)
        with in_flight(gateway, servers[home], 8):
            above = await asked(gateway, client, servers, PROMPT)
        known = await believed(client, gateway)

    assert (below, above) == (home, 1 - home)
    assert set(known.values()) == {384}, "whoever it was sent to holds it"


async def test_aff_02_a_miss_goes_where_there_is_least_to_do_not_to_the_emptiest_cache(tmp_path: Path) -> None:
    async with fleet(2, tmp_path) as (gateway, client, servers):
        full = await asked(gateway, client, servers, PROMPT)
        for number in range(20):
            with in_flight(gateway, servers[1 - full], 6):
                assert await asked(gateway, client, servers, f"{number} {PROMPT}") == full


async def test_aff_03_imbalance_elsewhere_does_not_switch_affinity_off(tmp_path: Path) -> None:
    async with fleet(3, tmp_path) as (gateway, client, servers):
        home = await asked(gateway, client, servers, PROMPT)
        with in_flight(gateway, servers[(home + 1) % 3], 20):
            found = [await asked(gateway, client, servers, PROMPT) for _ in range(10)]

    assert found == [home] * 10


async def test_aff_05_a_dead_server_gets_nothing_is_forgotten_and_does_not_get_its_prompts_back(tmp_path: Path) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": PROMPT}]}
    async with contextlib.AsyncExitStack() as stack, httpx.AsyncClient(timeout=10) as client:
        doomed = contextlib.AsyncExitStack()
        dead = await doomed.enter_async_context(fake_upstream(chat_either("A")))
        other = await stack.enter_async_context(fake_upstream(chat_either("B")))
        policy = f"policy: 1\nmodels: {{m: {{at: ['{dead.base}/v1', '{other.base}/v1']}}}}\nroutes: [{{use: m}}]\n"
        gateway = await stack.enter_async_context(running_gateway(policy, tmp_path))
        ask = f"{gateway.base}/v1/chat/completions"
        there = next(replica for replica in replicas(gateway) if dead.base in replica.name)
        with in_flight(gateway, other, 6):
            assert await asked(gateway, client, [dead, other], PROMPT) == 0

        await doomed.aclose()
        answers = await asyncio.gather(*(client.post(ask, json=body) for _ in range(5)))
        why_out = there.trust.why_out()
        async with fake_upstream(chat_either("A"), port=urlsplit(dead.base).port or 0) as back:
            alone = [await asked(gateway, client, [back, other], PROMPT) for _ in range(5)]
            there.trust.answered()
            known = await believed(client, gateway)
            well = [await asked(gateway, client, [back, other], PROMPT) for _ in range(5)]

    assert [answer.status_code for answer in answers] == [200] * 5
    assert why_out.startswith("nobody listens there")
    assert sorted(known.values()) == [0, 384]
    assert alone == well == [1] * 5, "left alone first, and then empty"
