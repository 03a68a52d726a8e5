"""What requests were charged in the end, beside what they were reckoned with when they were decided."""

from collections.abc import Sequence

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
    weighted = list(zip(weights(len(bills), MEMORY), bills, strict=True))
    base = sum([weight * one.base for weight, one in weighted])
    reckoned_base = sum([weight * one.reckoned_base for weight, one in weighted])
    spent = sum([weight * one.spent for weight, one in weighted])
    reckoned = sum([weight * one.reckoned for weight, one in weighted])
    return round(100 * (spent / base - reckoned / reckoned_base), 6)
