"""What requests were charged in the end, beside what they were reckoned with when they were decided."""

from collections.abc import Sequence
from operator import mul

from policies.steering.frontier import weights
from policies.steering.window import Bill

AT_LEAST = 100
"""Bills that are needed before they say anything."""

MEMORY = 500.0
"""Bills after which one says 1/e of what a new one does."""


def beyond(bills: Sequence[Bill]) -> float:
    """By how much the bills exceed what was reckoned, in percent of the reference; 0 while there are few. Oldest first.

    Reckoned of the same requests, so that it does not matter which of them are settled sooner.

    >>> beyond([Bill("a", base=10.0, spent=4.0, reckoned_base=10.0, reckoned=1.0)] * 100)
    30.0
    """
    if len(bills) < AT_LEAST:
        return 0.0
    faded = weights(len(bills), MEMORY)
    base: float = sum(map(mul, faded, [one.base for one in bills]))
    reckoned_base: float = sum(map(mul, faded, [one.reckoned_base for one in bills]))
    spent: float = sum(map(mul, faded, [one.spent for one in bills]))
    reckoned: float = sum(map(mul, faded, [one.reckoned for one in bills]))
    return round(100 * (spent / base - reckoned / reckoned_base), 6)
