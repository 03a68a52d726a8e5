"""Accounts of budgets in a real Redis: all of a request or none, the same as in memory, told when it is back."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.budget_world import DAY, MINUTE, FakeAccounts, ask

from gateway.budgets.ledger import Ledger
from gateway.budgets.shared import Change
from gateway.state.shared_budgets import SharedBudgets
from gateway.state.store import Store
from policies.budgets.need import Use

FRESH = itertools.count()
FAR = 4e9
"""An end of a period that no test comes to."""


@asynccontextmanager
async def gateways(url: str, count: int = 1, wait_s: float = 5.0) -> AsyncIterator[Sequence[SharedBudgets]]:
    name = f"budgets-{next(FRESH)}"
    stores = [Store(url, wait_s=wait_s, namespace=name) for _ in range(count)]
    try:
        for store in stores:
            assert await store.connect()
        yield [SharedBudgets(store, f"gateway-{i}") for i, store in enumerate(stores)]
    finally:
        for store in stores:
            await store.aclose()


def nobody(_: object) -> None:
    raise AssertionError("no word came late")


changes = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(-30, 60), st.integers(50, 100), st.booleans()),
    min_size=1,
    max_size=2,
    unique_by=lambda one: one[0],
)


@settings(max_examples=40)
@given(st.lists(changes, max_size=20))
def test_the_script_does_what_accounts_in_memory_do(
    redis_url: str, moves: list[list[tuple[str, int, int, bool]]]
) -> None:
    async def both() -> None:
        fake = FakeAccounts(gateways=1)
        async with gateways(redis_url) as (shared,):
            for move in moves:
                asked = [Change(key, amount, size, 0.0, FAR, firm) for key, amount, size, firm in move]
                assert await shared.take(asked, nobody) == fake.take(asked)

    asyncio.run(both())


async def test_gateways_that_race_for_a_budget_take_no_more_than_it_holds(redis_url: str) -> None:
    async with gateways(redis_url, count=4) as all_:
        ledgers = [Ledger(lambda: 1_000_000.0, shared) for shared in all_]

        answers = await asyncio.gather(*[ledger.reserve(ask(3)) for _ in range(25) for ledger in ledgers])

        assert sum(answer.ticket is not None for answer in answers) == 33
        assert {answer.by for answer in answers} == {"store"}
        assert await ledgers[0].look(ask(0)) == {"day": 1}
        for ledger, answer in zip(itertools.cycle(ledgers), answers, strict=False):
            if answer.ticket is not None:
                ledger.settle(answer.ticket, Use(microusd=1))
        await asyncio.gather(*[ledger.aclose() for ledger in ledgers])
        assert await ledgers[0].look(ask(0)) == {"day": 67}


async def test_gateways_count_each_other(redis_url: str) -> None:
    async with gateways(redis_url, count=3) as all_:
        words = [await shared.take([], nobody) for shared in (*all_, *all_)]

    assert [word.gateways for word in words if word] == [1, 2, 3, 3, 3, 3]


async def test_what_flows_back_does_so_by_the_servers_clock(redis_url: str) -> None:
    async with gateways(redis_url) as (shared,):
        fast = Change("m", 100, 100, flow=1e6, ends_at=0.0, firm=True)
        first, then = await shared.take([fast], nobody), None
        while then is None or not then.taken:
            then = await shared.take([fast], nobody)

    assert first is not None
    assert first.amounts == [100]
    assert 0 < then.amounts[0] <= 100


async def test_every_key_ends(redis_url: str) -> None:
    from redis.asyncio import Redis

    async with gateways(redis_url) as (shared,):
        day = Change("d", 5, 100, 0.0, ends_at=0.0)
        await shared.take([day, Change("m", 5, 600, 10.0, 0.0)], nobody)
        async with Redis.from_url(redis_url) as client:
            name = f"{{budgets-{next(FRESH) - 1}}}:budget:"
            lives = [await client.pttl(name + key) for key in ("d", "m", "gateways")]

    assert 3_599_000 < lives[0] <= 3_600_000, "an hour after its period"
    assert 3_600_000 < lives[1] <= 3_600_000 + 60_500, "an hour after all has flowed back"
    assert 0 < lives[2] <= 60_000


async def test_a_word_that_nobody_waits_for_is_given_back(redis_url: str) -> None:
    async with gateways(redis_url) as (shared,):
        ledger = Ledger(lambda: 1_000_000.0, shared)
        asking = asyncio.create_task(ledger.reserve(ask(40)))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

        async with asyncio.timeout(5):
            while await ledger.look(ask(0)) != {"day": 100}:  # noqa: ASYNC110  the store does not announce what it gave back
                await asyncio.sleep(0)


async def test_what_was_taken_while_it_was_away_is_told_when_it_is_back(redis_url: str) -> None:
    async with gateways(redis_url, count=2) as (one, other):
        ledger, beside = Ledger(lambda: 1_000_000.0, one), Ledger(lambda: 1_000_000.0, other)
        await beside.look(ask(0))
        known = (await ledger.reserve(ask(20))).ticket
        store = one._store
        store.leave()
        over, open_ = [(await ledger.reserve(ask(10))).ticket for _ in range(2)]
        assert (await ledger.reserve(ask(30))).ticket is None, "of the 80 that were left a half is this one's"
        assert known is not None
        assert over is not None
        assert open_ is not None
        ledger.settle(known, Use(microusd=5))
        ledger.settle(over, Use(microusd=7))
        assert await beside.look(ask(0)) == {"day": 80}

        assert await store.connect()

        assert await beside.look(ask(0)) == {"day": 100 - 5 - 7 - 10}
        ledger.settle(open_, Use(microusd=1))
        await ledger.aclose()
        assert await beside.look(ask(0)) == {"day": 100 - 5 - 7 - 1}


async def test_all_budgets_of_a_request_are_one_round_trip(redis_url: str) -> None:
    from redis.asyncio import Redis

    async def calls(client: Redis) -> int:
        return int((await client.info("commandstats")).get("cmdstat_evalsha", {}).get("calls", 0))

    async with gateways(redis_url) as (shared,), Redis.from_url(redis_url) as client:
        ledger = Ledger(lambda: 1_000_000.0, shared)
        await ledger.look(ask(0, DAY, MINUTE))
        before = await calls(client)
        answer = await ledger.reserve(ask(1, DAY, MINUTE))
        assert await calls(client) == before + 1
        assert answer.ticket is not None
        ledger.settle(answer.ticket, Use(1, 1))
        await ledger.aclose()
        assert await calls(client) == before + 1, "what came to what was set aside is not worth a word"


async def test_what_was_taken_for_a_request_that_is_cancelled_in_that_instant_goes_back(redis_url: str) -> None:
    async with gateways(redis_url) as (shared,):
        ledger = Ledger(lambda: 1_000_000.0, shared)
        reserving = asyncio.create_task(ledger.reserve(ask(60)))
        await asyncio.sleep(0)
        [exchange] = [task for task in asyncio.all_tasks() if task.get_name() == "store-exchange"]
        exchange.add_done_callback(lambda _: reserving.cancel())

        with pytest.raises(asyncio.CancelledError):
            await reserving

        assert not exchange.cancelled()
        assert await ledger.look(ask(0)) == {"day": 100}
