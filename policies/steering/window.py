"""The last requests of a route, as far as its line depends on them. Bounded, and no tenant has more than half of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

SIZE = 1_000
"""Requests that are remembered. A line solved on fewer would follow chance, on more it would follow yesterday."""

OF_ONE_TENANT = SIZE // 2
"""So that a flood from one does not wash out what the others asked."""


class Rise(msgspec.Struct, frozen=True):
    """From this exchange rate on, a request goes to a dearer and better model, which adds `amount`."""

    loss: float
    amount: float


class Sighting(msgspec.Struct, frozen=True):
    """One decided request. Amounts are in the target's currency: micro-dollars for a cost, chances for a quality.

    `base` is what the target's reference model comes to, `start` what the cheapest open model does, `spent` what the
    chosen one does. A request that does not rise went where no line could have changed it.
    """

    tenant: str
    base: float
    start: float
    rises: tuple[Rise, ...]
    spent: float


class Sightings(msgspec.Struct, frozen=True):
    """What the same requests say of a route's target, and of its floor."""

    target: Sequence[Sighting] = ()
    floor: Sequence[Sighting] = ()


Window = tuple[Sighting, ...]
"""Oldest first, at most SIZE."""


def take(window: Window, fresh: Iterable[Sighting]) -> Window:
    """`window` with the newest behind it. Without room the oldest goes; of a tenant that has its half, its own oldest.

    >>> one, other = Sighting("a", 1.0, 0.0, (), 0.0), Sighting("b", 1.0, 0.0, (), 0.0)
    >>> len(take((), [one] * 2_000)), len(take((one,) * 400, [other] * 2_000))
    (500, 900)
    """
    newest = list(_bounded([*window, *fresh]))[:SIZE]
    return tuple(reversed(newest))


def _bounded(sightings: list[Sighting]) -> Iterator[Sighting]:
    """Newest first."""
    count: Counter[str] = Counter()
    for sighting in reversed(sightings):
        count[sighting.tenant] += 1
        if count[sighting.tenant] <= OF_ONE_TENANT:
            yield sighting
