"""Amounts counted in bins that are 2 % wide: a distribution in constant space, and its quantiles with their intervals."""

import math
from collections.abc import Mapping

from policies.experiments.quantiles import log_e_of_rate

WIDTH = math.log(1.02)
LEAST = 1e-6
OPT_COUNT = 1_000.0

Bins = Mapping[int, int]


def counted(bins: Bins, amount: float) -> Bins:
    """With one more amount.

    >>> counted({}, 1.0)
    {0: 1}
    """
    place = bin_of(amount)
    return {**bins, place: bins.get(place, 0) + 1}


def together(one: Bins, other: Bins) -> Bins:
    return {place: one.get(place, 0) + other.get(place, 0) for place in {*one, *other}}


def bin_of(amount: float) -> int:
    return math.floor(math.log(max(amount, LEAST)) / WIDTH)


def middle(place: int) -> float:
    return math.exp((place + 0.5) * WIDTH)


def quantile_of(bins: Bins, quantile: float) -> float | None:
    """None without amounts.

    >>> round(quantile_of({bin_of(10.0): 3, bin_of(20.0): 4}, 0.5) or 0)
    20
    """
    left = quantile * sum(bins.values())
    for place in sorted(bins):
        left -= bins[place]
        if left <= 0:
            return middle(place)
    return None


def quantile_interval(bins: Bins, quantile: float, alpha: float) -> tuple[float, float] | None:
    """Where the quantile is, at every look with chance 1 - alpha; None while nothing can be said."""
    count, seen = sum(bins.values()), 0
    limit = -math.log(alpha)
    possible: list[int] = []
    for place in sorted(bins):
        before, seen = seen, seen + bins[place]
        nearest = min(max(quantile * count, before), seen)
        if log_e_of_rate(nearest, count, quantile, OPT_COUNT, alpha) <= limit:
            possible.append(place)
    open_ended = not possible or possible[0] == min(bins) or possible[-1] == max(bins)
    return None if open_ended else (middle(possible[0]), middle(possible[-1]))
