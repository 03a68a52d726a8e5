"""About how many units an experiment needs before it starts."""

import math

from policies.experiments.asymptotic import half_width_of, tuning
from policies.experiments.scores import TUNED_FOR

MOST = 1_000_000_000


def units_needed(effect: float, deviation: float, shares: tuple[float, float], alpha: float) -> int | None:
    """About how many units of two variants together until a difference of `effect` between their means is seen, at a look at
    each unit: the bound is then as wide as the effect, and somewhat more than half of all runs are over. `deviation` is that
    of one unit's outcome, `shares` are the variants' chances. None where it would be more than MOST.

    >>> 2_500 < (units_needed(0.03, 0.28, (0.5, 0.5), 0.05) or 0) < 3_500
    True
    """
    low, high = 1, MOST
    if width(high, deviation, shares, alpha) > abs(effect):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if width(middle, deviation, shares, alpha) <= abs(effect) else (middle + 1, high)
    return low


def width(units: int, deviation: float, shares: tuple[float, float], alpha: float) -> float:
    """Half the width of the interval for the difference after this many units."""
    error = deviation * math.sqrt(sum(sum(shares) / share for share in shares) / units)
    return half_width_of(units, error, tuning(TUNED_FOR, alpha), alpha)
