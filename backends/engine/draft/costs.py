"""What one more row costs, learned from the steps themselves: seconds = base + slope * rows, by decayed least squares."""

DECAY = 0.98
PRIOR_SHARE = 0.08
"""Before there is evidence: a further row costs this share of a one-row step (measured: 1.08 to 1.24 for 3 more rows)."""
LEAST_SHARE, MOST_SHARE = 0.02, 1e6
"""Bounds of what is believed. Noise must not make rows look free: a crowded batch would then draft its worst."""

SLOWEST = 3.0
"""A step that took this many times the usual was held up by something else, and counts as this."""


class StepCosts:
    """Of steps that only decode. Costs are relative: in units of a step's fixed part."""

    def __init__(self) -> None:
        self._weight = self._rows = self._squares = self._seconds = self._products = 0.0

    def observe(self, rows: int, seconds: float) -> None:
        if self._weight:
            seconds = min(seconds, SLOWEST * self._seconds / self._weight)
        self._weight = self._weight * DECAY + 1
        self._rows = self._rows * DECAY + rows
        self._squares = self._squares * DECAY + rows * rows
        self._seconds = self._seconds * DECAY + seconds
        self._products = self._products * DECAY + rows * seconds

    def slope(self) -> float:
        """The cost of a row as a share of the fixed cost of a step. Without steps of different sizes, the prior."""
        spread = self._weight * self._squares - self._rows * self._rows
        if spread <= 0.05 * self._rows * self._rows:
            return PRIOR_SHARE
        slope = (self._weight * self._products - self._rows * self._seconds) / spread
        base = (self._seconds - slope * self._rows) / self._weight
        return max(LEAST_SHARE, slope / base) if base > 0 else MOST_SHARE
