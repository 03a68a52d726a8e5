"""The last requests of a route, as far as its line depends on them. Bounded, and no tenant has more than half of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec

SIZE = 1_000
"""Requests that are remembered. A line solved on fewer would follow chance, on more it would follow yesterday."""

OF_ONE_TENANT = SIZE // 2
"""So that a flood from one does not wash out what the others asked."""


class Rise(msgspec.Struct, frozen=True):
    """From this exchange rate on, a request goes to a dearer and better model, which adds `amount`. `doubt` is the chance that
    its answer is not good."""

    loss: float
    amount: float
    doubt: float = 0.0


class Sighting(msgspec.Struct, frozen=True):
    """One decided request. Amounts are in the target's currency: micro-dollars for a cost, chances for a quality.

    `base` is what the target's reference model comes to, `start` what the cheapest open model does, `spent` what the
    chosen one does. A request that does not rise went where no line could have changed it. `doubt` is the chance that the
    answer of the model that it starts with is not good, `doubt_of_chosen` the chosen model's, `doubt_of_lowest` the lowest
    tier's; a half where there is no estimate.
    """

    tenant: str
    base: float
    start: float
    rises: tuple[Rise, ...]
    spent: float
    doubt: float = 0.0
    doubt_of_chosen: float = 0.0
    doubt_of_lowest: float = 0.0


class Bill(msgspec.Struct, frozen=True):
    """One settled request, in micro-dollars. `spent` is all that it was charged: the answer, what was given up for it, who
    was asked beside it; `base` what the target's reference model would have charged for the answer. `reckoned` and
    `reckoned_base` are the two as they were reckoned when it was decided, `doubt` and `doubt_of_lowest` the chances that the
    chosen model's answer is not good and the lowest tier's (`Sighting`)."""

    tenant: str
    base: float
    spent: float
    reckoned_base: float
    reckoned: float
    doubt: float = 0.0
    doubt_of_lowest: float = 0.0


class Sightings(msgspec.Struct, frozen=True):
    """What the same requests say of a route's target, and of its floor; and what others, decided earlier, were charged."""

    target: Sequence[Sighting] = ()
    floor: Sequence[Sighting] = ()
    bills: Sequence[Bill] = ()


Window = tuple[Sighting, ...]
"""Oldest first, at most SIZE."""

Bills = tuple[Bill, ...]
"""Likewise."""


class OfTenant(Protocol):
    @property
    def tenant(self) -> str: ...


T = TypeVar("T", bound=OfTenant)


def take(window: tuple[T, ...], fresh: Iterable[T]) -> tuple[T, ...]:
    """`window` with the newest behind it. Without room the oldest goes; of a tenant that has its half, its own oldest.

    >>> one, other = Sighting("a", 1.0, 0.0, (), 0.0), Sighting("b", 1.0, 0.0, (), 0.0)
    >>> len(take((), [one] * 2_000)), len(take((one,) * 400, [other] * 2_000))
    (500, 900)
    """
    seen = [*window, *fresh]
    too_many = {name: count - OF_ONE_TENANT for name, count in Counter([one.tenant for one in seen]).items()}
    if max(too_many.values(), default=0) > 0:
        seen = list(_bounded(seen, too_many))
    return tuple(seen[-SIZE:])


def _bounded(seen: list[T], too_many: dict[str, int]) -> Iterator[T]:
    """Without the oldest of each tenant, as many as there are too many of it."""
    for one in seen:
        if too_many[one.tenant] > 0:
            too_many[one.tenant] -= 1
        else:
            yield one
