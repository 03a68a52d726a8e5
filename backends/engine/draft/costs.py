"""What a step of so many rows costs, learned from the steps themselves.

A table, not a line: kernels work in groups of rows, so the ninth row may cost what the next three together do not.
"""

from bisect import bisect_left, insort
from collections import deque
from statistics import median

KEPT = 9
"""Steps of one size that are remembered. Their median counts: on a busy machine some take ten times as long."""

PRIOR_SHARE = 0.08
"""Before there is evidence: a further row costs this share of a one-row step (measured: 1.08 to 1.24 for 3 more rows)."""

LEAST_SHARE = 0.01
"""A row is never believed to cost less than this share. Noise must not make rows look free."""


class StepCosts:
    """Seconds by number of rows, of steps that only decode."""

    def __init__(self) -> None:
        self._seen: dict[int, deque[float]] = {}
        self._median: dict[int, float] = {}
        self._sizes: list[int] = []

    @property
    def is_known(self) -> bool:
        return bool(self._sizes)

    def observe(self, rows: int, seconds: float) -> None:
        if rows not in self._seen:
            self._seen[rows] = deque(maxlen=KEPT)
            insort(self._sizes, rows)
        self._seen[rows].append(seconds)
        self._median[rows] = median(self._seen[rows])

    def seconds(self, rows: int) -> float:
        """Of a step of `rows` rows: what was seen, on a straight line between neighbours, by the prior beyond them.

        Without any evidence in units of an empty step.
        """
        after = bisect_left(self._sizes, rows)
        if after < len(self._sizes) and self._sizes[after] == rows:
            return self._median[rows]
        if 0 < after < len(self._sizes):
            return self._between(self._sizes[after - 1], rows, self._sizes[after])
        return self._beyond(rows)

    def _between(self, fewer: int, rows: int, more: int) -> float:
        low, high = self._median[fewer], self._median[more]
        return low + (high - low) * (rows - fewer) / (more - fewer)

    def _beyond(self, rows: int) -> float:
        if not self._sizes:
            return 1 + PRIOR_SHARE * rows
        nearest = self._sizes[0] if rows < self._sizes[0] else self._sizes[-1]
        return self._median[nearest] * (1 + PRIOR_SHARE * rows) / (1 + PRIOR_SHARE * nearest)
