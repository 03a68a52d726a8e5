"""A gateway over sockets while its store hangs, lies, fails over or dies: no request fails, and it heals without a restart."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from servers.fault_relay import fault_relay
from servers.redis_servers import RedisServer, running, watched_pair
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import chat_either, fake_upstream

from gateway.secrets import Secret

AT_FAULT = 25
"""Requests while something is wrong, and the least that are asked before it is well again."""


@dataclass
class Traffic:
    """Requests one after the other, each of a prompt of its own, for as long as it runs."""

    gateway: RunningGateway
    client: httpx.AsyncClient
    statuses: list[int] = field(default_factory=list)

    async def run(self) -> None:
        while True:
            prompt = f"{len(self.statuses) % 7} " + "A stable prompt. " * 100
            body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
            answer = await self.client.post(f"{self.gateway.base}/v1/chat/completions", json=body)
            self.statuses.append(answer.status_code)

    async def more(self, count: int = AT_FAULT) -> None:
        goal = len(self.statuses) + count
        await self.until(lambda: len(self.statuses) >= goal)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds():  # noqa: ASYNC110  the traffic tells no event
                await asyncio.sleep(0.01)

    async def until_shared(self, is_shared: bool = True) -> None:
        store = self.gateway.gateway.store
        assert store is not None
        await self.until(lambda: store.is_asked is is_shared)

    async def state(self) -> dict[str, object]:
        """What /readyz says of the store; the gateway itself is ready whatever that is."""
        answer = await self.client.get(f"{self.gateway.base}/readyz")
        assert answer.status_code == 200
        found: dict[str, object] = answer.json()["state"]
        return found


@contextlib.asynccontextmanager
async def traffic(url: str, folder: Path) -> AsyncIterator[Traffic]:
    """Under way, over two replicas, and sharing."""
    async with fake_upstream(chat_either("A")) as a, fake_upstream(chat_either("B")) as b:
        model = {"at": [f"{a.base}/v1", f"{b.base}/v1"]}
        policy = json.dumps({"policy": 1, "models": {"m": model}, "routes": [{"use": "m"}]})
        async with (
            running_gateway(policy, folder, state=Secret(url), state_wait_ms=50) as gateway,
            httpx.AsyncClient(timeout=10) as client,
        ):
            made = Traffic(gateway, client)
            task = asyncio.create_task(made.run())
            try:
                await made.more(5)
                await made.until_shared()
                yield made
            finally:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        assert set(made.statuses) == {200}


@pytest.mark.parametrize("fault", ["hang", "slow", "refuse", "half", "nonsense"])
async def test_a_connection_that_fails_in_any_way_fails_no_request_and_heals(fault, tmp_path):
    server = RedisServer(tmp_path / "redis")
    with running(server):
        async with fault_relay(server.port) as relay, traffic(f"redis://127.0.0.1:{relay.port}/0", tmp_path) as going:
            assert await going.state() == {"shared": True, "why_not": ""}

            await relay.begin(fault)
            await going.more()
            await going.until_shared(False)
            told = await going.state()
            await going.more()
            await relay.end()

            await going.until_shared()
            await going.more(5)
            assert told["shared"] is False
            assert told["why_not"]
            assert await going.state() == {"shared": True, "why_not": ""}


async def test_a_server_that_is_killed_and_started_again_fails_no_request(tmp_path):
    server = RedisServer(tmp_path / "redis")
    with running(server):
        async with traffic(server.url, tmp_path) as going:
            server.kill()
            await going.until_shared(False)
            await going.more()
            await asyncio.to_thread(server.start)
            await going.until_shared()
            await going.more(10)

            assert server.command("DBSIZE") > 0, "what is learnt goes there again"


async def test_a_server_that_is_flushed_or_full_fails_no_request(tmp_path):
    server = RedisServer(tmp_path / "redis")
    with running(server):
        async with traffic(server.url, tmp_path) as going:
            for _ in range(3):
                server.command("FLUSHALL")
                server.command("SCRIPT", "FLUSH")
                await going.more(5)
            assert server.command("DBSIZE") > 0

            server.command("CONFIG", "SET", "maxmemory", 1)
            await going.more()
            server.command("CONFIG", "SET", "maxmemory", 0)
            server.command("FLUSHALL")
            await going.until_shared()
            await going.until(lambda: server.command("DBSIZE") > 0)


async def test_a_primary_that_dies_behind_a_sentinel_fails_no_request(tmp_path):
    with watched_pair(tmp_path / "pair") as (primary, spare, sentinel):
        async with traffic(f"redis+sentinel://127.0.0.1:{sentinel.port}/main", tmp_path) as going:
            primary.kill()
            await going.more()
            await going.until(lambda: b"role:master" in spare.command("INFO", "replication"))
            await going.until_shared()
            await going.more(5)

            assert spare.command("DBSIZE") > 0
