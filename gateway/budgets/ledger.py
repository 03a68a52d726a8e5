"""The accounts of all budgets, as this process knows them. What is set aside is given back or spent exactly once.

Alone, this process knows everything. Where gateways share a store its word counts, and what is known here is a copy: it serves
while the store is away, and what was then taken is told when it is back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import floor
from typing import NamedTuple

from gateway.budgets.accounts import Whose
from gateway.budgets.pages import Page, Pages
from gateway.budgets.shared import Change, Shared, Word
from gateway.budgets.told import By
from policies.budgets.account import changed, room, told
from policies.budgets.afford import has_room
from policies.budgets.need import Use
from policies.budgets.plan import Budget

UNHEARD_GATEWAYS = 10
"""Among how many what is left is shared while the store has not been heard once."""


class Ask(NamedTuple):
    """`firm`: where there is too little left, nothing is taken of any account."""

    budget: Budget
    whose: Whose
    use: Use
    firm: bool


@dataclass(slots=True)
class Entry:
    """One account of a request: what was asked for, and what is set aside by now."""

    budget: Budget
    key: str
    page: Page
    asked: int
    reserved: int
    firm: bool

    def change(self, amount: float) -> Change:
        return Change(self.key, amount, self.budget.at_once, self.budget.flow, self.page.ends_at, self.firm)


@dataclass(slots=True, eq=False)
class Ticket:
    """What one request has set aside, from its admission until it is settled."""

    entries: Sequence[Entry] = field(default_factory=list)
    is_open: bool = False


class Answer(NamedTuple):
    """`ticket` None: too little is left. `left` is what each account had, None where nobody can tell."""

    ticket: Ticket | None
    left: Mapping[str, int | None]
    by: By


ROUNDED = 0.001
"""What flows back is told to so much, either way."""


def left_of(budget: Budget, taken: float) -> int:
    """Never more than what the store would give: who is refused is told of less than was asked for.

    >>> from policies.budgets.plan import Budget
    >>> left_of(Budget(name="b", per="all", unit="tokens", limit=60, period="min", at_once=60), 12.0)
    47
    """
    return floor(budget.at_once - taken - (ROUNDED if budget.flow else 0))


class Ledger:
    """`now` counts seconds since the epoch."""

    def __init__(self, now: Callable[[], float], shared: Shared | None = None) -> None:
        self._now = now
        self._shared = shared
        self._pages = Pages()
        self._gateways = 1 if shared is None else UNHEARD_GATEWAYS

    @property
    def waits(self) -> bool:
        """Whether reserving takes a round trip."""
        return self._shared is not None

    async def reserve(self, asks: Sequence[Ask]) -> Answer:
        """Set aside what is asked for in every account, or in none."""
        ticket = Ticket([self._entry(ask) for ask in asks])
        if self._shared is None:
            return self._here(ticket, "memory")
        word = await self._word(self._shared, ticket)
        return self._here(ticket, "local_share") if word is None else self._there(ticket, word)

    async def look(self, asks: Sequence[Ask]) -> Mapping[str, int | None]:
        """What is left of each account; nothing is taken."""
        answer = await self.reserve([ask._replace(use=Use(), firm=False) for ask in asks])
        if answer.ticket is not None:
            self.settle(answer.ticket, Use())
        return answer.left

    def grow(self, ticket: Ticket, more: Use) -> None:
        """The request goes on to something dearer. It is admitted already, so nothing refuses it."""
        for entry in ticket.entries if ticket.is_open else ():
            amount = more.of(entry.budget)
            entry.reserved += amount
            self._move(entry, amount)

    def settle(self, ticket: Ticket, spent: Use) -> None:
        """The request is over, and came to `spent`. The first word counts."""
        if not ticket.is_open:
            return
        ticket.is_open = False
        for entry in ticket.entries:
            self._move(entry, spent.of(entry.budget) - entry.reserved)

    async def aclose(self) -> None:
        if self._shared is not None:
            await self._shared.aclose()

    def _entry(self, ask: Ask) -> Entry:
        key, page = self._pages.page(ask.budget, ask.whose, self._now(), self._gateways)
        amount = ask.use.of(ask.budget)
        return Entry(ask.budget, key, page, amount, amount, ask.firm)

    async def _word(self, shared: Shared, ticket: Ticket) -> Word | None:
        """The store's, in time. Meanwhile others here count with what is asked for."""
        for entry in ticket.entries:
            entry.page.asked += entry.asked
        try:
            changes = [entry.change(entry.asked) for entry in ticket.entries]
            return await shared.take(changes, partial(self._heard_late, ticket))
        finally:
            for entry in ticket.entries:
                entry.page.asked -= entry.asked

    def _here(self, ticket: Ticket, by: By) -> Answer:
        """By what is known here. The store is told as soon as it can be."""
        left = {entry.budget.name: self._left(entry, by) for entry in ticket.entries}
        if any(entry.firm and not has_room(left[entry.budget.name], entry.asked) for entry in ticket.entries):
            return Answer(None, left, by)
        for entry in ticket.entries:
            self._move(entry, entry.asked)
        ticket.is_open = True
        return Answer(ticket, left, by)

    def _left(self, entry: Entry, by: By) -> int | None:
        budget = entry.budget
        if by == "local_share" and budget.when_away != "local_share":
            return None if budget.when_away == "reject" else budget.at_once
        return room(entry.page.account, budget, self._gateways) - entry.page.asked

    def _there(self, ticket: Ticket, word: Word) -> Answer:
        """By the store's word."""
        assert self._shared is not None
        self._gateways = word.gateways
        left: dict[str, int | None] = {}
        for entry, taken in zip(ticket.entries, word.amounts, strict=True):
            entry.page.account = told(self._now(), taken + self._shared.owed(entry.key))
            left[entry.budget.name] = left_of(entry.budget, taken - entry.asked * word.taken)
        ticket.is_open = word.taken
        return Answer(ticket if word.taken else None, left, "store")

    def _heard_late(self, ticket: Ticket, word: Word) -> None:
        """The request was decided without it: what the store took goes back."""
        if word.taken and self._shared is not None:
            for entry in ticket.entries:
                self._shared.owe(entry.change(-entry.asked))

    def _move(self, entry: Entry, amount: float) -> None:
        """So much more is taken, or less: here at once, and there soon."""
        entry.page.account = changed(entry.page.account, amount)
        if self._shared is not None and amount:
            self._shared.owe(entry.change(amount))
