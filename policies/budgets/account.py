"""What one account of a budget has taken: everybody's by the last word of the shared store, and this gateway's since then.

Alone, a gateway has no such word and may take all. Where the store is away, `gateways` share what was left at its last word
evenly, so that together they take no more than that.
"""

from math import floor

import msgspec

from policies.budgets.plan import Budget


class Account(msgspec.Struct, frozen=True):
    """In the budget's unit, as it stood `at` (seconds since the epoch). An account of an hour, a day or a month is of that
    one alone. `known` is everybody's, by the store's last word; `own` what was taken here since, below 0 where of `known`
    something was given back."""

    at: float
    known: float = 0.0
    own: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is taken, as if it had never been used."""
        return self.known <= 0 and self.own <= 0


def at(account: Account, budget: Budget, now: float, gateways: int = 1) -> Account:
    """The account as it stands `now`. What flows back is of what is known first, so that it comes back once for all gateways.

    >>> minute = Budget(name="b", per="all", unit="tokens", limit=600, period="min", at_once=600)
    >>> at(Account(0.0, own=100), minute, 4.0)
    Account(at=4.0, known=0.0, own=60.0)
    """
    back = budget.flow * max(0.0, now - account.at)
    if not back:
        return account
    known = max(0.0, account.known - back)
    rest = back - (account.known - known)
    return Account(now, known, max(-known, account.own - rest / gateways))


def room(account: Account, budget: Budget, gateways: int = 1) -> int:
    """What may still be taken here; below 0 where more came of requests than was set aside for them.

    >>> day = Budget(name="b", per="all", unit="microusd", limit=100, period="day", at_once=100)
    >>> room(Account(0.0, known=40, own=10), day), room(Account(0.0, known=40, own=10), day, gateways=3)
    (50, 10)
    """
    return floor((budget.at_once - account.known) / gateways - account.own)


def changed(account: Account, amount: float) -> Account:
    """So much more, or less, is taken. Nothing below nothing comes of giving back."""
    return Account(account.at, account.known, max(-account.known, account.own + amount))


def told(now: float, taken: float) -> Account:
    """By the store's word."""
    return Account(now, known=taken)
