"""Where the expected calibration error lies: for which errors what was seen is neither too much nor too little.

What was seen has the noise of its bins in it, and a bootstrap adds the same noise once more: its interval lies above the value
that it is of (of 200 prompts and exact chances it holds the truth, zero, never).
"""

from collections.abc import Iterator
from math import erf
from typing import NamedTuple

import numpy as np

from classifiers.measuring.metrics import BINS, Floats, ece, even_bins

Interval = tuple[float, float]

_Z = 1.96
_STEPS = np.linspace(0.0, 1.0, 1001)[:, None]
_LEAST = 1e-9
_ERF = np.vectorize(erf, otypes=[np.float64])


class _Seen(NamedTuple):
    """By bin: its `part` of the prompts, how many there are, the mean chance, and observed less that. `spread` is how much
    outcomes vary within bins as a part of what those that are 0 or 1 would."""

    part: Floats
    prompts: Floats
    chance: Floats
    gap: Floats
    spread: float


def ece_interval(probability: Floats, outcome: Floats, bins: int = BINS) -> Interval:
    """95 % interval of what `ece` estimates, with its value inside. No draw is made.

    A test turned around: an error belongs to it where a bin's gap, with normal noise of a proportion's size, comes to an ECE
    like this one. An error's gaps are those that were seen, all smaller or all larger, or equal ones of the same signs; the
    interval holds both. Mean and variance of a gap's size: the folded normal (Leone, Nelson, Nottingham, Technometrics 1961).
    Outcomes between 0 and 1 are less noisy by one factor (quasi-likelihood: Wedderburn, Biometrika 1974).

    >>> said = np.full(100, 0.5); came = np.arange(100) % 2.0
    >>> ece_interval(said, came)[0]
    0.0
    """
    seen, told = _seen(probability, outcome, bins), ece(probability, outcome, bins)
    ends = [told, *(end for gaps in _shapes(seen) for end in _ends(seen, gaps, told))]
    return min(ends), max(ends)


def _seen(probability: Floats, outcome: Floats, bins: int) -> _Seen:
    parts = even_bins(probability, bins)
    prompts = np.array([len(part) for part in parts], dtype=np.float64)
    chance, observed = (np.array([values[part].mean() for part in parts]) for values in (probability, outcome))
    varied = sum(float(((outcome[part] - outcome[part].mean()) ** 2).sum()) for part in parts if len(part) > 1)
    binary = float((prompts * observed * (1 - observed))[prompts > 1].sum())
    spread = varied / binary if binary > _LEAST else 1.0
    return _Seen(prompts / prompts.sum(), prompts, chance, observed - chance, spread)


def _shapes(seen: _Seen) -> Iterator[Floats]:
    """Gaps by bin at their largest; smaller errors are parts of them."""
    yield seen.gap / max(float(abs(seen.gap).max()), _LEAST)
    yield np.sign(seen.gap)


def _ends(seen: _Seen, gaps: Floats, told: float) -> Iterator[float]:
    """The smallest error for which so much is not too much, and the largest for which it is not too little, as far as there are
    such."""
    observed = np.clip(seen.chance + _STEPS * gaps, 0.0, 1.0)
    size = abs(observed - seen.chance)
    mean, variance = _folded(size, seen.spread * observed * (1 - observed) / seen.prompts)
    expected, reach = mean @ seen.part, _Z * np.sqrt(variance @ seen.part**2)
    error = size @ seen.part
    yield from error[expected + reach >= told][:1].tolist()
    yield from error[expected - reach <= told][-1:].tolist()


def _folded(mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of |x| for a normal x."""
    sd = np.maximum(np.sqrt(variance), _LEAST)
    z = mean / sd
    found = sd * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) + mean * _ERF(z / np.sqrt(2))
    return found, np.maximum(mean**2 + sd**2 - found**2, 0.0)
