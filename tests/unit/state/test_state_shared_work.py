"""What one gateway gave a replica to do the others read with their next look, until it is done or the gateway is gone."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from gateway.state.memory import MemoryResidency
from gateway.state.redis_residency import RedisResidency
from gateway.state.registry import Registry
from gateway.state.residency import NO_WORK, Prompt, Work
from gateway.state.shared_work import SharedWork
from gateway.state.store import Store

FRESH = itertools.count()
REPLICA = "http://a:1/v1"


@dataclass
class Process:
    """One gateway process, as far as it shares. `work` is what it gave the replica to do."""

    residency: RedisResidency
    told: SharedWork
    following: "asyncio.Task[None]"
    work: Work = NO_WORK

    def gives(self, work: Work) -> None:
        self.work = work
        self.told.changed(REPLICA, lambda: self.work)

    async def others(self) -> Work:
        [seen] = await self.residency.look([Prompt([], [REPLICA])])
        return seen.others[REPLICA]

    async def until_others(self, holds: Callable[[Work], bool]) -> Work:
        async with asyncio.timeout(10):
            while not holds(found := await self.others()):  # noqa: ASYNC110  only asking tells
                await asyncio.sleep(0.01)
        return found


@contextlib.asynccontextmanager
async def process(url: str, namespace: str, name: str) -> AsyncIterator[Process]:
    store = Store(url, wait_s=2.0, namespace=namespace)
    residency = RedisResidency(store, mirror=MemoryResidency(100, time.monotonic), me=name)
    told = SharedWork(store, name, residency.index.work_prefix, life_s=1.0, heartbeat_s=0.1)
    following = asyncio.create_task(told.follow())
    try:
        yield Process(residency, told, following)
    finally:
        following.cancel()
        await store.aclose()


@contextlib.asynccontextmanager
async def processes(url: str, *names: str) -> AsyncIterator[list[Process]]:
    namespace = f"work{next(FRESH)}"
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(process(url, namespace, name)) for name in names]


async def test_each_sees_the_work_of_all_others_and_not_its_own(redis_url):
    async with processes(redis_url, "one", "two", "three") as (one, two, three):
        one.gives(Work(1, 100, 0))
        two.gives(Work(2, 0, 3_000))

        assert await three.until_others(lambda work: work.running == 3) == Work(3, 100, 3_000)
        assert await one.until_others(lambda work: work.running == 2) == Work(2, 0, 3_000)
        one.gives(NO_WORK)
        assert await two.until_others(lambda work: work.running == 0) == NO_WORK


@pytest.mark.parametrize(("held", "counted"), [(0, 0), (1, 6), (2, 5), (3, 5), (4, 0), (5, 0)])
async def test_each_sees_how_many_prompts_of_all_others_begin_like_what_is_held(redis_url, chained, held, counted):
    """As far as the longest of its first 1, 2, 4 ... blocks."""
    asked = chained([1, 2, 3, 4, 5])
    async with processes(redis_url, "one", "two", "three") as (one, two, three):
        await three.residency.learn(REPLICA, asked[:held], 60)
        one.gives(Work(4, 0, 0, ((asked[0], 4), (asked[1], 3), (b"x" * 16, 9))))
        two.gives(Work(2, 0, 0, ((asked[1], 2), (asked[0], 2))))
        three.gives(Work(7, 0, 0, ((asked[0], 7), (asked[1], 7))))
        await three.until_others(lambda work: work.running == 6)

        [seen] = await three.residency.look([Prompt(asked, [REPLICA])])

    assert seen.alike.get(REPLICA, 0) == counted


async def test_work_that_goes_on_is_told_again_before_the_word_ages(redis_url):
    async with processes(redis_url, "one", "two") as (one, two):
        one.gives(Work(1, 0, 10))
        await two.until_others(lambda work: work == Work(1, 0, 10))

        until = time.monotonic() + 1.2
        while time.monotonic() < until:
            assert await two.others() == Work(1, 0, 10)
            await asyncio.sleep(0.05)


async def test_the_work_of_a_gateway_that_died_is_forgotten(redis_url):
    namespace = f"work{next(FRESH)}"
    async with process(redis_url, namespace, "two") as two:
        async with process(redis_url, namespace, "one") as one:
            one.gives(Work(5, 5_000, 0))
            await two.until_others(lambda work: work.running == 5)

        assert await two.until_others(lambda work: work.running == 0) == NO_WORK


async def test_a_gateway_that_ends_in_order_takes_its_words_back_at_once(redis_url):
    namespace = f"work{next(FRESH)}"
    async with process(redis_url, namespace, "two") as two, process(redis_url, namespace, "one") as one:
        one.gives(Work(5, 5_000, 0))
        await two.until_others(lambda work: work.running == 5)
        one.following.cancel()
        await one.told.aclose()

        assert await two.others() == NO_WORK


async def test_a_burst_of_changes_ends_at_what_is_true(redis_url):
    async with processes(redis_url, "one", "two") as (one, two):
        for n in range(1, 2_001):
            one.gives(Work(n, 0, 0))
            if n % 97 == 0:
                await asyncio.sleep(0)

        assert await two.until_others(lambda work: work.running == 2_000) == Work(2_000, 0, 0)


async def test_a_replica_is_found_while_its_lease_lasts_and_gone_when_it_leaves(redis_url):
    store = Store(redis_url, wait_s=2.0, namespace=f"lease{next(FRESH)}")
    registry = Registry(store)
    try:
        assert await registry.find("m") == frozenset()
        assert await registry.announce("m", "http://a/v1", 30)
        assert await registry.announce("m", "http://b/v1", 0.1)
        assert await registry.announce("other", "http://c/v1", 30)

        async with asyncio.timeout(10):
            while await registry.find("m") != {"http://a/v1"}:  # noqa: ASYNC110  a lease ends without a word
                await asyncio.sleep(0.02)
        assert await registry.withdraw("m", "http://a/v1")
        assert await registry.find("m") == frozenset()
        assert await registry.find("other") == {"http://c/v1"}
    finally:
        await store.aclose()


async def test_a_registry_that_cannot_be_asked_says_nothing_instead_of_nobody(tmp_path):
    store = Store(f"unix://{tmp_path}/nobody")
    try:
        assert await Registry(store).find("m") is None
        assert not await Registry(store).announce("m", "http://a/v1")
    finally:
        await store.aclose()
