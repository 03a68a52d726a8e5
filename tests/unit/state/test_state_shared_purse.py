"""One day's money for shadows of several gateways: whoever spends, ends or loses the store, together they keep to the cap."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.shadows.till import Till
from gateway.state.shared_purse import SharedPurse
from gateway.state.store import Store

CAP, NOON = 1_000, 86_400 * 10 + 43_200.0
FRESH = itertools.count()


@asynccontextmanager
async def purses(url: str, count: int) -> AsyncIterator[Sequence[SharedPurse]]:
    name = f"purse-{next(FRESH)}"
    stores = [Store(url, wait_s=5.0, namespace=name) for _ in range(count)]
    try:
        for store in stores:
            assert await store.connect()
        yield [SharedPurse(store) for store in stores]
    finally:
        for store in stores:
            await store.aclose()


class Pot:
    """What the script does, in memory; away where a test says so, and then it may have taken all the same."""

    def __init__(self) -> None:
        self.taken: dict[int, int] = {}
        self.is_away = self.is_deaf = False

    async def take(self, name: str, day: int, amount: int, cap: int) -> bool:
        await asyncio.sleep(0)
        had = self.taken.get(day, 0)
        if self.is_away or (amount > 0 and had + amount > cap):
            return False
        self.taken[day] = max(0, had + amount)
        return not self.is_deaf


moves = st.lists(
    st.tuples(
        st.sampled_from(("ask", "settle", "kill", "close", "away", "deaf", "well")),
        st.integers(0, 2),
        st.integers(1, 300),
        st.integers(0, 100),
    ),
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(moves)
def test_gateways_never_spend_more_than_the_cap_together_whatever_becomes_of_them(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[str, int, int, int]]
) -> None:
    folders = [tmp_path_factory.mktemp("till") for _ in range(3)]

    async def spend() -> None:
        pot, spent = Pot(), 0
        tills = [Till(folder, lambda: NOON, pot) for folder in folders]
        under_way: list[list[int]] = [[], [], []]
        for what, who, amount, part in told:
            if what == "ask" and await tills[who].reserve("s", amount, CAP):
                under_way[who].append(amount)
            elif what == "settle" and under_way[who]:
                reserved = under_way[who].pop(0)
                tills[who].settle("s", reserved, reserved * part // 100)
                spent += reserved * part // 100
            elif what in ("kill", "close"):
                spent += sum(under_way[who]) if what == "kill" else 0
                for reserved in under_way[who] if what == "close" else ():
                    tills[who].settle("s", reserved, 0)
                if what == "close":
                    await tills[who].aclose()
                under_way[who], tills[who] = [], Till(folders[who], lambda: NOON, pot)
            else:
                pot.is_away, pot.is_deaf = what == "away", what == "deaf"
            assert spent + sum(map(sum, under_way)) <= CAP

    asyncio.run(spend())


async def test_calls_of_three_gateways_at_once_fill_the_cap_and_not_more(redis_url: str, tmp_path: Path) -> None:
    async with purses(redis_url, 3) as shared:
        tills = [Till(tmp_path / str(i), lambda: NOON, purse) for i, purse in enumerate(shared)]
        for i in range(3):
            (tmp_path / str(i)).mkdir()
        got = await asyncio.gather(*[tills[number % 3].reserve("s", 30, CAP) for number in range(60)])

    assert CAP - 3 * 30 <= 30 * sum(got) <= CAP


async def test_what_was_not_spent_comes_back_and_another_day_has_its_own_money(redis_url: str) -> None:
    async with purses(redis_url, 2) as shared:
        one, other = (Till(None, lambda: NOON, purse) for purse in shared)
        assert await one.reserve("s", 900, CAP)
        assert not await other.reserve("s", 200, CAP)
        one.settle("s", 900, 100)
        await one.aclose()

        assert await other.reserve("s", 850, CAP)
        assert not await other.reserve("s", 100, CAP)
        assert await other.reserve("another", 1_000, CAP)
        assert await Till(None, lambda: NOON + 86_400, shared[0]).reserve("s", 1_000, CAP)


async def test_without_the_store_no_more_than_was_granted_is_spent() -> None:
    pot = Pot()
    till = Till(None, lambda: NOON, pot)
    assert await till.reserve("s", 10, CAP)
    pot.is_away = True

    granted = pot.taken[10]
    more = [await till.reserve("s", 5, CAP) for _ in range(10)]

    assert granted == 10 + CAP // 64
    assert sum(more) == (granted - 10) // 5
    assert not more[-1]
