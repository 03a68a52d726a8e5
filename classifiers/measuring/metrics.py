"""How well a score routes between two models. Definitions: README, "What the table says".

Notation: q_small, q_large are the qualities of the two models on each prompt, gain = q_large - q_small. Prompts go to
the large model in the order of their score, highest first; equal scores share their gain evenly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

BINS = 15
LEAST_GAP = 1e-12


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean quality against the share of prompts that went to the large model, both starting at share 0."""

    share: Floats
    quality: Floats


def deferral_curve(score: Floats, q_small: Floats, q_large: Floats) -> Curve:
    """One point per distinct score; between points quality is linear, which is what breaking ties by a coin gives."""
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.nonzero(np.diff(score[order]))[0], len(score) - 1)
    gained = np.cumsum((q_large - q_small)[order])[ends] / len(score)
    share = np.append(0.0, (ends + 1) / len(score))
    return Curve(share, q_small.mean() + np.append(0.0, gained))


def has_gap(q_small: Floats, q_large: Floats) -> bool:
    """Whether the large model is better on average, by more than sums of fractions are off."""
    return bool(q_large.mean() - q_small.mean() > LEAST_GAP)


def apgr(score: Floats, q_small: Floats, q_large: Floats) -> float:
    """Average performance gap recovered: the integral of (quality - Q_small) / (Q_large - Q_small) over the share.

    0.5 is random; above 1 is possible where the small model sometimes wins. Ong et al., RouteLLM, arXiv 2406.18665.
    Raises ValueError where the large model isn't better on average, for then there is no gap to recover.

    >>> q = np.array([0.0, 1.0]); apgr(np.array([1.0, 0.0]), q, np.ones(2))
    0.75
    """
    _gap(q_small, q_large)
    return apgr_of(deferral_curve(score, q_small, q_large))


def apgr_of(curve: Curve) -> float:
    """The same of a curve whose last quality is above its first."""
    small, large = curve.quality[0], curve.quality[-1]
    return float((np.trapezoid(curve.quality, curve.share) - small) / (large - small))


def cpt(score: Floats, q_small: Floats, q_large: Floats, recovered: float) -> float:
    """Call-performance threshold: the smallest share of large calls that recovers this part of the gap (0..1)."""
    _gap(q_small, q_large)
    return cpt_of(deferral_curve(score, q_small, q_large), recovered)


def cpt_of(curve: Curve, recovered: float) -> float:
    """The same of a curve whose last quality is above its first."""
    small, large = float(curve.quality[0]), float(curve.quality[-1])
    share = share_for(small + recovered * (large - small), curve)
    return 1.0 if share is None else share


def share_for(quality: float, curve: Curve) -> float | None:
    """The smallest share of large calls whose mean quality reaches `quality`; None where none does.

    >>> share_for(0.5, Curve(np.array([0.0, 1.0]), np.array([0.25, 0.75])))
    0.5
    """
    reached = np.nonzero(curve.quality >= quality - 1e-12)[0]
    if not len(reached):
        return None
    at = int(reached[0])
    if at == 0:
        return 0.0
    (x0, x1), (y0, y1) = curve.share[at - 1 : at + 1], curve.quality[at - 1 : at + 1]
    return float(x0 + (x1 - x0) * (quality - y0) / (y1 - y0))


def recovered_at(share: float, score: Floats, q_small: Floats, q_large: Floats) -> float:
    """The part of the gap that this share of large calls recovers."""
    curve = deferral_curve(score, q_small, q_large)
    return float((np.interp(share, curve.share, curve.quality) - q_small.mean()) / _gap(q_small, q_large))


def auc(score: Floats, positive: NDArray[np.bool_]) -> float:
    """P(a positive scores above a negative), ties counting one half; 0.5 where one of the two sorts is missing.

    >>> auc(np.array([0.1, 0.9, 0.5]), np.array([False, True, True]))
    1.0
    """
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if ones == 0 or zeros == 0:
        return 0.5
    return float((ranks(score)[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def ranks(score: Floats) -> Floats:
    """1-based ranks, lowest first; equal scores share their mean rank.

    >>> ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, which, counts = np.unique(score, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray(((ends - counts + 1 + ends) / 2)[which], dtype=np.float64)


def ranks_within(score: Floats, group: Rows) -> Floats:
    """Ranks among the rows of the same group, as parts of its size: what scores that are on no common scale do tell.

    >>> ranks_within(np.array([0.1, 0.2, 0.9, 0.8]), np.array([0, 0, 1, 1])).tolist()
    [0.5, 1.0, 1.0, 0.5]
    """
    found = np.zeros(len(score))
    for one in np.unique(group):
        rows = np.nonzero(group == one)[0]
        found[rows] = ranks(score[rows]) / len(rows)
    return found


def ece(probability: Floats, outcome: Floats, bins: int = BINS) -> float:
    """Expected calibration error over bins of equal mass: mean |predicted - observed|, weighted by bin size."""
    gaps = (len(part) * abs(probability[part].mean() - outcome[part].mean()) for part in even_bins(probability, bins))
    return float(sum(gaps) / len(probability))


def even_bins(probability: Floats, count: int) -> list[Rows]:
    """Positions by chance, lowest first, as many in each bin; none is empty."""
    return [part for part in np.array_split(np.argsort(probability, kind="stable"), count) if len(part)]


def brier(probability: Floats, outcome: Floats) -> float:
    """Mean squared difference of chance and outcome."""
    return float(np.mean((probability - outcome) ** 2))


def log_loss(probability: Floats, outcome: Floats) -> float:
    """Mean cross entropy in nats; outcomes may lie between 0 and 1."""
    p = np.clip(probability, 1e-6, 1 - 1e-6)
    return float(-np.mean(outcome * np.log(p) + (1 - outcome) * np.log1p(-p)))


def apgr_interval(score: Floats, q_small: Floats, q_large: Floats, resamples: int, seed: int) -> tuple[float, float]:
    """95 % percentile bootstrap over prompts of `apgr`, as far as the value; (nan, nan) without resamples."""
    draw, values, n = np.random.default_rng(seed), [], len(score)
    for _ in range(resamples):
        rows = draw.integers(0, n, n)
        if has_gap(q_small[rows], q_large[rows]):
            values.append(apgr(score[rows], q_small[rows], q_large[rows]))
    return interval(values, apgr(score, q_small, q_large))


def interval(values: Sequence[float], told: float) -> tuple[float, float]:
    """95 % percentile interval, as far as `told`, which few or lopsided draws may lie beside; (nan, nan) of nothing. Infinite
    values are not read between."""
    if not values:
        return float("nan"), float("nan")
    finite = bool(np.isfinite(values).all())
    low, high = np.percentile(values, [2.5, 97.5], method="linear" if finite else "inverted_cdf")
    return min(float(low), told), max(float(high), told)


def _gap(q_small: Floats, q_large: Floats) -> float:
    gap = float(q_large.mean() - q_small.mean())
    if gap <= LEAST_GAP:
        raise ValueError(f"the large model is not better on average ({q_large.mean():.4f} <= {q_small.mean():.4f})")
    return gap
