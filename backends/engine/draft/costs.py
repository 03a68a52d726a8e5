"""What a step of so many rows costs: a shape measured once, scaled by what the steps themselves take.

A table, not a line: kernels work in groups of rows, so the ninth row may cost what the next three together do not.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from backends.engine.api import LanguageModel, Step

LEARN = 1 / 64
"""How much one step changes the scale of all sizes."""
PRIOR_STEPS = 64
"""A size speaks for itself as far as its steps outweigh this many, in which it was as the shape says. Believed sooner, the
size that was lucky lately would look the best of all, and one that was unlucky would never be tried again."""
FADE = 0.998
"""Per step, how steps of long ago lose weight."""
FRESH = 8
"""Steps for which what is known of a size beside the scale is told again: it is asked for often and hardly changes."""
SLOWEST = 1.5
"""A step that took this many times what was expected was held up by something else, and counts as this."""

PRIOR_SHARE = 0.08
"""The shape where none was measured: a further row costs this share of an empty step."""

SIZES = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24)
ROUNDS = 6
WITHIN_S = 1.5
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
    falling = {rows: min(seconds for more, seconds in best.items() if more >= rows) for rows in best}
    return {rows: max(seconds, _least(falling, rows)) for rows, seconds in falling.items()}


def _least(shape: Mapping[int, float], rows: int) -> float:
    """Half the prior for every row beyond fewer ones: a machine that was busy throughout must not make rows look free."""
    return max(
        seconds + PRIOR_SHARE / 2 * seconds * (rows - fewer) for fewer, seconds in shape.items() if fewer <= rows
    )


def _timed(model: LanguageModel, rows: int, clock: Callable[[], float]) -> float:
    each, zeros = np.arange(rows, dtype=np.int32), np.zeros(rows, np.int32)
    step = Step(tokens=zeros, positions=zeros, sequence=each, tables=each[:, None], logit_rows=each)
    began = clock()
    model.forward(step)
    return clock() - began


@dataclass(slots=True)
class Evidence:
    """Steps of one size as shares of what the shape and the scale said, faded to the step `at`."""

    steps: float = 0.0
    total: float = 0.0
    at: int = 0

    def add(self, ratio: float, step: int) -> None:
        faded = FADE ** (step - self.at)
        self.steps, self.total, self.at = self.steps * faded + 1, self.total * faded + ratio, step

    def mean(self, step: int) -> float:
        faded = FADE ** (step - self.at)
        return (PRIOR_STEPS + self.total * faded) / (PRIOR_STEPS + self.steps * faded)


class StepCosts:
    """Seconds by number of rows, of steps that only decode. `shape` is what `measured` found, or nothing."""

    def __init__(self, shape: Mapping[int, float] | None = None) -> None:
        self._sizes = sorted(shape or {})
        self._shape = dict(shape or {})
        self._scale: float | None = None
        self._own: dict[int, Evidence] = {}
        self._told: dict[int, float] = {}
        self._step = 0

    @property
    def is_known(self) -> bool:
        """Whether costs are seconds, and not units of an empty step."""
        return bool(self._shape) or self._scale is not None

    def observe(self, rows: int, seconds: float) -> None:
        """All sizes share a scale; what a size takes beyond it is its own correction."""
        if self._scale is None:
            self._scale = seconds / self._shaped(rows)
        self._step += 1
        if self._step % FRESH == 0:
            self._told.clear()
        expected = self._scale * self._own_shape(rows)
        ratio = min(seconds / expected, SLOWEST) if expected else 1.0
        self._own.setdefault(rows, Evidence()).add(ratio * self._correction(rows), self._step)
        self._scale *= 1 + LEARN * (ratio - 1)

    def seconds(self, rows: int) -> float:
        told = self._told.get(rows)
        if told is None:
            told = self._told[rows] = self._own_shape(rows)
        return told if self._scale is None else told * self._scale

    def _own_shape(self, rows: int) -> float:
        return self._shaped(rows) * self._correction(rows)

    def _correction(self, rows: int) -> float:
        own = self._own.get(rows)
        return 1.0 if own is None else own.mean(self._step)

    def _shaped(self, rows: int) -> float:
        """As the shape has it, on straight lines between its points and beyond the last two."""
        if len(self._sizes) < 2:
            return 1 + PRIOR_SHARE * rows
        after = min(max(1, bisect_left(self._sizes, rows)), len(self._sizes) - 1)
        fewer, more = self._sizes[after - 1], self._sizes[after]
        low, high = self._shape[fewer], self._shape[more]
        return max(low, low + (high - low) * (rows - fewer) / (more - fewer))
