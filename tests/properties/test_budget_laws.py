"""Budgets: what is set aside is spent or given back exactly once, and no account takes more than it has."""

from dataclasses import dataclass, field

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from servers.budget_world import DAY, MINUTE, FakeAccounts, FakeStore, ask, at_once

from gateway.budgets.accounts import Whose
from gateway.budgets.ledger import Ledger, Ticket
from gateway.budgets.pages import Pages
from policies.budgets.need import Use
from policies.budgets.plan import Budget

steps = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), st.integers(0, 60)),
        st.tuples(st.just("settle"), st.integers(0, 60)),
        st.tuples(st.just("grow"), st.integers(0, 10)),
        st.tuples(st.just("again"), st.just(0)),
        st.tuples(st.just("tomorrow"), st.just(0)),
    ),
    max_size=60,
)


@dataclass
class Clock:
    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Oracle:
    """What is taken today, as a list of what is under way and a sum of what is over."""

    under_way: list[tuple[Ticket, int]] = field(default_factory=list)
    yesterdays: list[Ticket] = field(default_factory=list)
    spent: int = 0

    @property
    def taken(self) -> int:
        return self.spent + sum(amount for _, amount in self.under_way)


@given(steps)
def test_a_request_is_let_in_exactly_where_an_oracle_has_room_and_what_it_spent_stays(
    moves: list[tuple[str, int]],
) -> None:
    clock, oracle = Clock(), Oracle()
    ledger = Ledger(clock)
    for move, amount in moves:
        if move == "reserve":
            answer = at_once(ledger.reserve(ask(amount)))
            assert (answer.ticket is not None) == (not amount or oracle.taken + amount <= 100)
            assert answer.left == {"day": 100 - oracle.taken}
            if answer.ticket is not None:
                oracle.under_way.append((answer.ticket, amount))
        elif move == "settle" and oracle.under_way:
            ticket, reserved = oracle.under_way.pop(0)
            ledger.settle(ticket, Use(microusd=min(amount, reserved)))
            oracle.spent += min(amount, reserved)
        elif move == "grow" and oracle.under_way:
            ticket, reserved = oracle.under_way[0]
            ledger.grow(ticket, Use(microusd=amount))
            oracle.under_way[0] = ticket, reserved + amount
        elif move == "again":
            for ticket, _ in oracle.under_way[:1]:
                ledger.settle(ticket, Use(microusd=0))
                ledger.settle(ticket, Use(microusd=99))
            oracle.under_way = oracle.under_way[1:]
        elif move == "tomorrow":
            clock.now += 86_400
            oracle.yesterdays += [ticket for ticket, _ in oracle.under_way]
            oracle.under_way, oracle.spent = [], 0
    for ticket in oracle.yesterdays:
        ledger.settle(ticket, Use(microusd=50))
    assert at_once(ledger.look(ask(0))) == {"day": 100 - oracle.taken}, "what began yesterday is yesterday's"


@given(st.lists(st.integers(1, 40), min_size=1, max_size=40), st.integers(1, 40), st.booleans())
def test_of_all_budgets_all_are_taken_or_none(amounts: list[int], hours: int, flows: bool) -> None:
    hourly = Budget(name="hour", per="all", unit="tokens", limit=hours, period="hour", at_once=hours)
    budgets = (DAY, hourly, MINUTE) if flows else (DAY, hourly)
    ledger, taken = Ledger(Clock()), 0
    for amount in amounts:
        answer = at_once(ledger.reserve(ask(amount, *budgets)))
        assert (answer.ticket is not None) == (taken + amount <= min(100, hours))
        taken += amount if answer.ticket is not None else 0
    assert at_once(ledger.look(ask(0, *budgets)))["day"] == 100 - taken


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(1, 300), st.floats(0, 1)), max_size=40))
def test_a_flowing_budget_gives_out_no_more_than_it_holds_and_what_flowed_back(
    asked: list[tuple[float, int, float]],
) -> None:
    clock = Clock()
    ledger, spent, began = Ledger(clock), 0, clock.now
    for passed, amount, share in asked:
        clock.now += passed
        ticket = at_once(ledger.reserve(ask(amount, MINUTE))).ticket
        if ticket is not None:
            came_to = int(amount * share)
            ledger.settle(ticket, Use(tokens=came_to))
            spent += came_to
        assert spent <= 300 + MINUTE.flow * (clock.now - began) + 1e-6


moods = st.sampled_from(["well", "away", "late"])
shared_moves = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), st.integers(0, 2), st.integers(1, 40)),
        st.tuples(st.just("settle"), st.integers(0, 2), st.integers(0, 40)),
        st.tuples(st.just("grow"), st.integers(0, 2), st.integers(1, 10)),
        st.tuples(moods, st.integers(0, 2), st.just(0)),
    ),
    max_size=60,
)


class Fleet:
    """Three gateways and what each has under way."""

    def __init__(self) -> None:
        self.accounts = FakeAccounts(gateways=3)
        self.stores = [FakeStore(self.accounts) for _ in range(3)]
        self.ledgers = [Ledger(Clock(), store) for store in self.stores]
        self.under_way: list[list[tuple[Ticket, int]]] = [[], [], []]
        self.spent = 0

    @property
    def taken(self) -> int:
        return self.spent + sum(amount for own in self.under_way for _, amount in own)

    def reserve(self, i: int, amount: int) -> bool:
        ticket = at_once(self.ledgers[i].reserve(ask(amount))).ticket
        if ticket is not None:
            self.under_way[i].append((ticket, amount))
        return ticket is not None

    def settle(self, i: int, came_to: int) -> None:
        if self.under_way[i]:
            ticket, reserved = self.under_way[i].pop()
            self.ledgers[i].settle(ticket, Use(microusd=min(came_to, reserved)))
            self.spent += min(came_to, reserved)

    def grow(self, i: int, more: int) -> None:
        if self.under_way[i]:
            ticket, reserved = self.under_way[i].pop()
            self.ledgers[i].grow(ticket, Use(microusd=more))
            self.under_way[i].append((ticket, reserved + more))

    def end(self) -> None:
        """The store is well, and every request comes to half of what was set aside."""
        for store in self.stores:
            store.turn("well")
        for i, own in enumerate(self.under_way):
            for _, reserved in list(own):
                self.settle(i, reserved // 2)


@given(shared_moves)
def test_whatever_the_store_does_what_was_spent_is_what_stays_taken(moves: list[tuple[str, int, int]]) -> None:
    fleet = Fleet()
    for move, i, amount in moves:
        if move == "reserve":
            fleet.reserve(i, amount)
        elif move == "settle":
            fleet.settle(i, amount)
        elif move == "grow":
            fleet.grow(i, amount)
        else:
            fleet.stores[i].turn(move)  # type: ignore[arg-type]
    assert fleet.taken <= 200 + 10 * len(moves), "a limit by the store, one more by shares of what was heard last"

    fleet.end()

    assert sum(fleet.accounts.taken.values()) == fleet.spent
    assert at_once(fleet.ledgers[0].look(ask(0))) == {"day": 100 - fleet.spent}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 60), st.integers(0, 60)), max_size=60))
def test_gateways_that_share_a_store_together_never_take_more_than_the_limit(moves: list[tuple[int, int, int]]) -> None:
    fleet = Fleet()
    for i, amount, came_to in moves:
        had = fleet.taken
        assert fleet.reserve(i, amount) == (had + amount <= 100)
        assert fleet.taken <= 100
        if came_to % 2:
            fleet.settle(i, came_to)


@given(st.integers(0, 100), st.lists(st.tuples(st.integers(0, 2), st.integers(1, 60)), max_size=60))
def test_while_the_store_is_away_gateways_that_heard_it_last_take_what_was_left_and_no_more(
    taken: int, moves: list[tuple[int, int]]
) -> None:
    fleet = Fleet()
    if taken:
        fleet.reserve(0, taken)
    for i, store in enumerate(fleet.stores):
        at_once(fleet.ledgers[i].look(ask(0)))
        store.turn("away")

    for i, amount in moves:
        fleet.reserve(i, amount)

    assert fleet.taken <= 100
    assert all(
        sum(amount for _, amount in own) <= taken * (i == 0) + (100 - taken) / 3
        for i, own in enumerate(fleet.under_way)
    )


def test_who_makes_up_users_is_not_rid_of_what_they_have_spent() -> None:
    pages = Pages(most=10)
    first = pages.page(DAY, Whose("user 1", "tenant"), 0.0)
    for i in range(100):
        pages.page(DAY, Whose(f"user {i}", "tenant"), 0.0)

    assert pages.page(DAY, Whose("user 1", "tenant"), 0.0) == first
    assert pages.page(DAY, Whose("user 98", "tenant"), 0.0)[0] == pages.page(DAY, Whose("user 99", "tenant"), 0.0)[0]
    assert pages.page(DAY, Whose("user 98", "other"), 0.0)[0] != pages.page(DAY, Whose("user 99", "tenant"), 0.0)[0]
    assert len(pages) == 12


def test_what_is_over_makes_room() -> None:
    pages = Pages(most=2)
    for i in range(3):
        pages.page(DAY, Whose(f"user {i}", "tenant"), 0.0)

    key, _ = pages.page(DAY, Whose("user 9", "tenant"), 86_400.0)

    assert key.endswith(":user 9")
    assert len(pages) == 1


def test_a_budget_may_say_that_nobody_or_everybody_passes_while_the_store_is_away() -> None:
    closed, opened = (msgspec.structs.replace(DAY, when_away=word) for word in ("reject", "allow"))
    accounts = FakeAccounts(1)
    store = FakeStore(accounts)
    ledger = Ledger(Clock(), store)
    store.turn("away")

    assert at_once(ledger.reserve(ask(1, closed))).left == {"day": None}
    assert [at_once(ledger.reserve(ask(60, opened))).ticket is not None for _ in range(3)] == [True] * 3
    store.turn("well")
    assert sum(accounts.taken.values()) == 180
