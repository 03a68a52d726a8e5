"""The mean of values in a known range: an interval that is valid at every look, exact, and needs nothing but counts of values.

For every possible mean m a gambler stakes fixed parts of the money on the next value being above m, others on below; the
wealth of all of them together is a martingale when the mean is m, so means at which it has grown by 1/alpha are out (betting,
Waudby-Smith and Ramdas, 2010.09686; a mixture over fixed bets as in Orabona and Jun, 2110.14099). The product does not hang on
the order of values: their counts are the whole state, and counts of several processes add up.
"""

import math
from collections.abc import Callable, Mapping

BETS = tuple([0.9 * 2 ** (-k / 2) for k in range(20)])
"""Parts of what a gambler can lose at once."""

HALVINGS = 20
"""The ends of an interval are known to a millionth of the range."""

Counts = Mapping[int, int]
"""How often each value came, in percent."""


def log_wealth(counts: Counts, mean: float, low: float, high: float) -> float:
    """Of the mixture, half of it on each side. `low <= mean <= high`.

    >>> round(log_wealth({}, 0.5, 0.0, 1.0), 9)
    0.0
    """
    gains = [(value / 100 - mean, count) for value, count in counts.items()]
    up, down = max(mean - low, 1e-12), max(high - mean, 1e-12)
    logs = [wealth(gains, part / up) for part in BETS] + [wealth(gains, -part / down) for part in BETS]
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs) / len(logs))


def wealth(gains: list[tuple[float, int]], stake: float) -> float:
    return sum(count * math.log1p(stake * gain) for gain, count in gains)


def interval(counts: Counts, alpha: float, *, low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
    """Every mean that is not out. Of nothing the whole range.

    >>> low, high = interval({100: 30, 0: 70}, 0.05)
    >>> low < 0.3 < high and high - low < 0.35
    True
    """
    count = sum(counts.values())
    if not count:
        return low, high
    average = sum(value * times for value, times in counts.items()) / (100 * count)
    most = -math.log(alpha)

    def is_out(mean: float) -> bool:
        return log_wealth(counts, mean, low, high) > most

    return edge(low, average, is_out), edge(high, average, is_out)


def edge(outer: float, inner: float, is_out: Callable[[float], bool]) -> float:
    """Where what is out begins, going from the average; the wealth grows on the way."""
    if not is_out(outer):
        return outer
    for _ in range(HALVINGS):
        middle = (outer + inner) / 2
        outer, inner = (middle, inner) if is_out(middle) else (outer, middle)
    return outer
