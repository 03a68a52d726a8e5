"""What a step of so many rows costs: a shape measured once, scaled by what the steps themselves take.

A table, not a line: kernels work in groups of rows, so the ninth row may cost what the next three together do not.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping
from math import inf
from statistics import median

import numpy as np

from backends.engine.api import LanguageModel, Step

KEPT = 9
"""Steps that are remembered of each size, and of all. Their median counts: on a busy machine some take ten times as long."""
TRUSTED = 3
"""From so many steps on a size speaks for itself; before, it costs what the shape says times what the others took."""

PRIOR_SHARE = 0.08
"""The shape where none was measured: a further row costs this share of an empty step."""

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 32, 48)
ROUNDS = 3
WITHIN_S = 0.5
"""Measuring stops after this time, with the small sizes known; a large model is not kept from starting."""


def measured(model: LanguageModel, clock: Callable[[], float]) -> dict[int, float]:
    """Seconds of a step by its rows; each row a sequence of one token, in a block of its own.

    The best of some rounds, and at most what more rows took: what else runs on the machine can only make a step slower.
    """
    began, best = clock(), dict[int, float]()
    for rows in [rows for _ in range(ROUNDS) for rows in SIZES if rows <= model.blocks]:
        if best and clock() - began > WITHIN_S:
            break
        best[rows] = min(best.get(rows, inf), _timed(model, rows, clock))
    return {rows: min(seconds for more, seconds in best.items() if more >= rows) for rows in best}


def _timed(model: LanguageModel, rows: int, clock: Callable[[], float]) -> float:
    each, zeros = np.arange(rows, dtype=np.int32), np.zeros(rows, np.int32)
    step = Step(tokens=zeros, positions=zeros, sequence=each, tables=each[:, None], logit_rows=each)
    began = clock()
    model.forward(step)
    return clock() - began


class StepCosts:
    """Seconds by number of rows, of steps that only decode. `shape` is what `measured` found, or nothing."""

    def __init__(self, shape: Mapping[int, float] | None = None) -> None:
        self._sizes = sorted(shape or {})
        self._shape = dict(shape or {})
        self._ratios: dict[int, deque[float]] = {}
        self._recent: deque[float] = deque(maxlen=KEPT)
        self._scale = 1.0
        self._own: dict[int, float] = {}

    @property
    def is_known(self) -> bool:
        """Whether costs are seconds, and not units of an empty step."""
        return bool(self._shape or self._recent)

    def observe(self, rows: int, seconds: float) -> None:
        ratio = seconds / self._shaped(rows)
        ratios = self._ratios.setdefault(rows, deque(maxlen=KEPT))
        ratios.append(ratio)
        self._recent.append(ratio)
        self._scale = median(self._recent)
        if len(ratios) >= TRUSTED:
            self._own[rows] = median(ratios)

    def seconds(self, rows: int) -> float:
        return self._shaped(rows) * self._own.get(rows, self._scale)

    def _shaped(self, rows: int) -> float:
        """As the shape has it, on straight lines between its points and beyond the last two."""
        if len(self._sizes) < 2:
            return 1 + PRIOR_SHARE * rows
        after = min(max(1, bisect_left(self._sizes, rows)), len(self._sizes) - 1)
        fewer, more = self._sizes[after - 1], self._sizes[after]
        low, high = self._shape[fewer], self._shape[more]
        return max(low, low + (high - low) * (rows - fewer) / (more - fewer))
