"""A gateway in front of workers: their own word on load and blocks counts, and their tenants are kept apart."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.plain_client import chat_body, connected
from servers.running_gateway import RunningGateway, running_gateway
from servers.stub_workers import PROMPT, ask, believed, cached, heard, learnt, replicas, until_heard, worker
from upstreams.fake_upstream import unused_port

from gateway.live.replicas import Replica
from gateway.request.identity import KeyEntry


@asynccontextmanager
async def before(at: Sequence[str], folder: Path, key: str = "", **settings: Any) -> AsyncIterator[RunningGateway]:
    """A gateway whose model `m` has these workers, all of which it hears."""
    model = {"at": list(at), "worker": True, **({"key": key} if key else {})}
    policy = json.dumps({"policy": 1, "models": {"m": model}, "routes": [{"use": "m"}]})
    async with running_gateway(policy, folder, **settings) as gateway:
        yield gateway


def told_running(gateway: RunningGateway) -> int:
    """What the only worker says of itself."""
    running: int = replicas(gateway)[0].upstream._heard.load.running  # type: ignore[union-attr]
    return running


async def test_what_a_worker_holds_is_known_exactly_until_it_is_evicted(tmp_path: Path) -> None:
    async with (
        worker(tmp_path / "a") as a,
        worker(tmp_path / "b") as b,
        before([a.at, b.at], tmp_path) as gateway,
        httpx.AsyncClient(timeout=20) as client,
    ):
        await until_heard(gateway)
        assert cached(await ask(client, gateway)) == 0
        known = await learnt(client, gateway)
        longer = await believed(client, gateway, PROMPT + "and something of its own")
        assert cached(await ask(client, gateway)) == 416
        [home] = [w for w in (a, b) if known[w.at]]

        for number in range(4):
            await ask(client, home.gateway, f"{number} {PROMPT}")
        async with asyncio.timeout(5):
            while (await believed(client, gateway))[home.at]:  # noqa: ASYNC110  only asking tells
                await asyncio.sleep(0.02)

    assert sorted(known.values()) == [0, 352]
    assert longer == known


async def test_a_worker_whose_cache_is_lost_is_believed_to_hold_nothing_at_once(tmp_path: Path) -> None:
    async with (
        worker(tmp_path / "a") as a,
        worker(tmp_path / "b") as b,
        before([a.at, b.at], tmp_path) as gateway,
        httpx.AsyncClient(timeout=20) as client,
    ):
        await until_heard(gateway)
        await ask(client, gateway)
        known = await learnt(client, gateway)
        [home] = [w for w in (a, b) if known[w.at]]
        residency = gateway.gateway.world.residency
        prepared = replicas(gateway)[0].upstream.prepare(request(), a_salt(gateway))  # type: ignore[union-attr]
        assert (await residency.held(prepared.blocks, [home.at]))[home.at] > 0

        home.model.fault = ValueError("bad lanes")
        await client.post(f"{home.gateway.base}/v1/chat/completions", content=chat_body())
        async with asyncio.timeout(10):
            while (await residency.held(prepared.blocks, [home.at]))[home.at]:  # noqa: ASYNC110  only asking tells
                await asyncio.sleep(0.02)

        await gateway.until(lambda _: by_name(gateway, home.at).load().ready)
        assert (await believed(client, gateway))[home.at] == 0


def request() -> Any:
    from backends.dialects.openai_chat.request import read_chat

    return read_chat(chat_body(text=PROMPT))


def a_salt(gateway: RunningGateway) -> bytes:
    return gateway.gateway.identity.identify({}).salt


async def test_work_that_others_gave_to_a_worker_counts_in_the_choice(tmp_path: Path) -> None:
    async with (
        worker(tmp_path / "a") as a,
        worker(tmp_path / "b") as b,
        before([a.at, b.at], tmp_path) as gateway,
        httpx.AsyncClient(timeout=20) as client,
    ):
        await until_heard(gateway)
        warm_up = b.upstream.engine.stats().generated_tokens
        a.model.step_s = 0.01
        async with connected(a.gateway.port) as other:
            await other.ask(chat_body(stream=True))
            await other.until(b'"content"')
            await gateway.until(lambda _: by_name(gateway, a.at).load().running == 1)
            for number in range(6):
                await ask(client, gateway, f"{number}")
        generated = b.upstream.engine.stats().generated_tokens - warm_up

    assert generated == 6 * 2


def by_name(gateway: RunningGateway, name: str) -> Replica:
    [found] = [replica for replica in replicas(gateway) if replica.name == name]
    return found


async def test_a_worker_that_is_not_there_takes_no_work_until_it_is_back(tmp_path: Path) -> None:
    port = unused_port()
    async with (
        worker(tmp_path / "b") as b,
        before([f"http://127.0.0.1:{port}/v1", b.at], tmp_path) as gateway,
        httpx.AsyncClient(timeout=20) as client,
    ):
        absent = by_name(gateway, f"http://127.0.0.1:{port}/v1")
        await gateway.until(lambda _: not absent.load().ready)
        why_not = absent.load().why_not
        for number in range(4):
            await ask(client, gateway, f"{number}")
        async with worker(tmp_path / "a", port=port):
            await gateway.until(lambda _: absent.load().ready and heard(absent))
        await gateway.until(lambda _: not absent.load().ready)

    assert why_not == "the worker cannot be reached"


async def test_a_worker_that_stops_is_passed_over_while_it_ends_its_work(tmp_path: Path) -> None:
    async with worker(tmp_path / "a") as a, before([a.at], tmp_path) as gateway:
        await until_heard(gateway)
        a.model.step_s = 0.001
        async with connected(a.gateway.port) as slow:
            await slow.ask(chat_body(stream=True))
            await slow.until(b'"content"')
            a.gateway.gateway.door.drain()
            await gateway.until(lambda _: replicas(gateway)[0].load().why_not == "stopping")
            assert b"[DONE]" in await slow.rest()


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_the_gateway_stops_the_engine_of_the_worker(stream: bool, tmp_path: Path) -> None:
    async with worker(tmp_path / "a") as a, before([a.at], tmp_path) as gateway:
        await until_heard(gateway)
        a.model.step_s = 0.005
        async with connected(gateway.port) as client:
            await client.ask(chat_body(stream=stream))
            await gateway.until(lambda _: a.upstream.engine.load().running == 1)
            await gateway.until(lambda _: told_running(gateway) == 1)
            counted = replicas(gateway)[0].load().running
            client.kill()
        await gateway.until(lambda _: a.upstream.engine.load().running == 0, 1.0)
        generated = a.upstream.engine.stats().generated_tokens
        load = a.upstream.engine.load()

        assert counted == 1, "our own work was counted twice"
        assert generated < 600
        assert (load.waiting, load.free_blocks) == (0, load.total_blocks)


TENANTS = [{"hash": hashlib.sha256(name.encode()).hexdigest(), "tenant": name} for name in ("one", "two")]


@pytest.mark.parametrize(("is_gateway", "expected"), [(True, [False, True, False]), (False, [False, True, True])])
async def test_tenants_of_the_gateway_are_kept_apart_at_a_worker_that_trusts_it(
    is_gateway: bool, expected: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER_KEY", "front")
    (tmp_path / "keys.json").write_text(json.dumps(TENANTS))
    keys = [KeyEntry(hash=hashlib.sha256(b"front").hexdigest(), tenant="front", gateway=is_gateway)]
    async with (
        worker(tmp_path / "a", keys=keys) as a,
        before([a.at], tmp_path, key="env:WORKER_KEY", keys_file=tmp_path / "keys.json") as gateway,
        httpx.AsyncClient(timeout=20) as client,
    ):
        found = [cached(await ask(client, gateway, key=key)) > 0 for key in ("one", "one", "two")]
        was_heard = heard(replicas(gateway)[0])

    assert found == expected
    assert was_heard == is_gateway


async def test_only_a_gateway_is_told_where_its_prompt_lies(tmp_path: Path) -> None:
    async with worker(tmp_path / "a") as a, httpx.AsyncClient(timeout=20) as client:
        url = f"{a.at}/chat/completions"
        plain = await client.post(url, content=chat_body(text=PROMPT))
        relayed = await client.post(url, content=chat_body(text=PROMPT), headers={"x-turnout-salt": "ab"})

    assert "x-turnout-prefix" not in plain.headers
    assert relayed.headers["x-turnout-prefix"].startswith("420.")
