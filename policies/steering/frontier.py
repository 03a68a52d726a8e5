"""What the requests of a window allow: for each line the share that it comes to, and for each share the line."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import exp, sqrt
from operator import mul
from typing import NamedTuple

from policies.policy import TargetKind
from policies.steering.window import SIZE, Sighting


class Frontier(NamedTuple):
    """`losses` at which the mix changes, ascending, and the percent of the reference before and after each change."""

    losses: Sequence[float]
    percents: Sequence[float]

    def percent_at(self, line: float) -> float:
        """What the window comes to under `line`.

        >>> Frontier([1.0, 4.0], [10.0, 50.0, 90.0]).percent_at(2.0)
        50.0
        """
        return self.percents[bisect_left(self.losses, line)]

    def line_for(self, percent: float, kind: TargetKind) -> float | None:
        """The largest line within a cost, the smallest that reaches a quality, else the nearest end; None: all are alike.

        >>> Frontier([1.0, 4.0], [10.0, 50.0, 90.0]).line_for(60.0, "cost")
        2.0
        """
        if not self.losses:
            return None
        at = bisect_right(self.percents, percent) - 1 if kind == "cost" else bisect_left(self.percents, percent)
        return self._inside(min(max(at, 0), len(self.losses)))

    def _inside(self, at: int) -> float:
        """A line within the interval in which mix `at` is right."""
        if at == 0:
            return self.losses[0] / 2
        if at == len(self.losses):
            return self.losses[-1] * 2
        return sqrt(self.losses[at - 1] * self.losses[at])


def weights(count: int, memory: float) -> Sequence[float]:
    """How much each of `count` requests says, oldest first: the newest 1, one of `memory` requests ago 1/e.

    >>> [round(weight, 2) for weight in weights(3, 2)]
    [0.37, 0.61, 1.0]
    """
    table = _fading(memory, max(count, SIZE))
    return table[len(table) - count :]


@lru_cache(maxsize=8)
def _fading(memory: float, most: int) -> tuple[float, ...]:
    return tuple([exp(-age / memory) for age in reversed(range(most))])


def frontier(sightings: Sequence[Sighting], memory: float) -> Frontier:
    """The frontier of at least one request, oldest first."""
    faded = weights(len(sightings), memory)
    base: float = sum(map(mul, faded, [one.base for one in sightings]))
    amount: float = sum(map(mul, faded, [one.start for one in sightings]))
    weighted = zip(faded, sightings, strict=True)
    rises = sorted([(rise.loss, weight * rise.amount) for weight, one in weighted for rise in one.rises])
    losses = [loss for loss, _ in rises]
    percents = [100 * amount / base for amount in accumulate([more for _, more in rises], initial=amount)]
    last = [at for at, (loss, after) in enumerate(zip(losses, [*losses[1:], None], strict=False)) if loss != after]
    return Frontier([losses[at] for at in last], [percents[0], *[percents[at + 1] for at in last]])
