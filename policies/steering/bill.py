"""What requests were charged in the end, beside what they were reckoned with when they were decided."""

from collections.abc import Sequence

from policies.steering.foretold import AT_LEAST
from policies.steering.window import Bill


def beyond(bills: Sequence[Bill]) -> float:
    """By how much the bills exceed what was reckoned, in percent of the reference; 0 while there are few.

    Reckoned of the same requests, so that it does not matter which of them are settled sooner.

    >>> beyond([Bill("a", base=10.0, spent=4.0, reckoned_base=10.0, reckoned=1.0)] * 100)
    30.0
    """
    if len(bills) < AT_LEAST:
        return 0.0
    base = sum([one.base for one in bills])
    reckoned_base = sum([one.reckoned_base for one in bills])
    spent = sum([one.spent for one in bills])
    reckoned = sum([one.reckoned for one in bills])
    return round(100 * (spent / base - reckoned / reckoned_base), 6)
