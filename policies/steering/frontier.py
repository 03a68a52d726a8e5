"""What the requests of a window allow: for each line the share that it comes to, and for each share the line."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import exp, sqrt
from typing import NamedTuple

from policies.policy import TargetKind
from policies.steering.window import Sighting


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
    return [exp((i - count + 1) / memory) for i in range(count)]


def frontier(sightings: Sequence[Sighting], memory: float) -> Frontier:
    """The frontier of at least one request, oldest first."""
    weighted = list(zip(weights(len(sightings), memory), sightings, strict=True))
    base = sum([weight * one.base for weight, one in weighted])
    amount = sum([weight * one.start for weight, one in weighted])
    losses: list[float] = []
    percents = [100 * amount / base]
    for loss, more in sorted([(rise.loss, weight * rise.amount) for weight, one in weighted for rise in one.rises]):
        amount += more
        if losses and losses[-1] == loss:
            percents[-1] = 100 * amount / base
        else:
            losses.append(loss)
            percents.append(100 * amount / base)
    return Frontier(losses, percents)
