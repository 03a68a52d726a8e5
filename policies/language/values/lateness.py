"""When the first content is late: after a time, or where the waits of other prompts end."""

import re
from typing import NamedTuple

from policies.language.values import quantities

TTFT_PATTERN = r"p[0-9]{2}(?:\.[0-9])? of ttft"
AFTER_PATTERN = f"{quantities.TIME_PATTERN}|{TTFT_PATTERN}"


class After(NamedTuple):
    """Seconds, or a percentile; the other is 0."""

    seconds: float = 0.0
    percentile: float = 0.0


def after(value: object) -> After:
    """Raises ValueError.

    >>> after("800ms"), after("p95 of ttft")
    (After(seconds=0.8, percentile=0.0), After(seconds=0.0, percentile=95.0))
    """
    if not isinstance(value, str) or not value.startswith("p"):
        return After(seconds=quantities.seconds(value))
    if not re.fullmatch(TTFT_PATTERN, value):
        raise ValueError("should be a length of time, such as 800ms, or a percentile, such as p95 of ttft")
    percentile = float(value[1:].partition(" ")[0])
    if percentile < 50:
        raise ValueError("should be a percentile of at least 50: what is usual is not late")
    return After(percentile=percentile)
