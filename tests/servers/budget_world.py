"""A store of accounts that is asked in memory: it answers, is away, or answers when nobody waits any more."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from gateway.budgets.accounts import Whose
from gateway.budgets.ledger import Ask
from gateway.budgets.shared import Change, Word
from policies.budgets.need import Use
from policies.budgets.plan import Budget

Mood = Literal["well", "away", "late"]
"""late: it does what it is asked, and its word comes when nobody waits any more."""

DAY = Budget(name="day", per="tenant", unit="microusd", limit=100, period="day", at_once=100)
MINUTE = Budget(name="minute", per="all", unit="tokens", limit=600, period="min", at_once=300)
WHOSE = Whose("t", "t")


def ask(amount: int, *budgets: Budget, firm: bool = True) -> list[Ask]:
    return [Ask(budget, WHOSE, Use(amount, amount), firm) for budget in budgets or (DAY,)]


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """What never waits."""
    return asyncio.run(work)


class FakeAccounts:
    """Of all gateways: what is taken of each account, by key."""

    def __init__(self, gateways: int) -> None:
        self.gateways = gateways
        self.taken: dict[str, float] = {}

    def take(self, changes: Sequence[Change]) -> Word:
        had = [self.taken.get(change.key, 0.0) for change in changes]
        fits = not any(c.firm and c.amount > 0 and t + c.amount > c.size for c, t in zip(changes, had, strict=True))
        if fits:
            had = [max(0.0, taken + change.amount) for change, taken in zip(changes, had, strict=True)]
            self.taken.update({change.key: taken for change, taken in zip(changes, had, strict=True)})
        return Word(fits, self.gateways, had)


class FakeStore:
    """How one gateway reaches them. What is owed is told as soon as it is well."""

    def __init__(self, accounts: FakeAccounts) -> None:
        self._accounts = accounts
        self.mood: Mood = "well"
        self._owed: list[Change] = []
        self._late: list[tuple[Callable[[Word], None], Word]] = []

    async def take(self, changes: Sequence[Change], late: Callable[[Word], None]) -> Word | None:
        if self.mood == "away":
            return None
        word = self._accounts.take(changes)
        if self.mood == "well":
            return word
        self._late.append((late, word))
        return None

    def owe(self, change: Change) -> None:
        self._owed.append(change._replace(firm=False))
        if self.mood == "well":
            self._tell()

    def owed(self, key: str) -> float:
        return sum(change.amount for change in self._owed if change.key == key)

    def turn(self, mood: Mood) -> None:
        """From here on. Late words come in when it is well again."""
        self.mood = mood
        if mood == "well":
            late, self._late = self._late, []
            for heard, word in late:
                heard(word)
            self._tell()

    async def aclose(self) -> None:
        self._tell()

    def _tell(self) -> None:
        owed, self._owed = self._owed, []
        for change in owed:
            self._accounts.take([change])
