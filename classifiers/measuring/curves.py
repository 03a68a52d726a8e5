"""What a measurement looks like: quality against the share of large calls, and how often a predicted chance came true."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from classifiers.heads.inputs import Floats
from classifiers.measuring import metrics
from classifiers.outcomes.own import first_and_last

POINTS = 41
_BINS = 10


class Deferral(msgspec.Struct, frozen=True):
    """Mean `quality` where this `share` of prompts, 0..1, goes to the large model."""

    share: tuple[float, ...]
    quality: tuple[float, ...]


class Reliability(msgspec.Struct, frozen=True):
    """Of bins with equally many prompts: the mean chance, the mean outcome, how many prompts."""

    predicted: tuple[float, ...]
    observed: tuple[float, ...]
    prompts: tuple[int, ...]


class Curves(msgspec.Struct, frozen=True, kw_only=True):
    """`deferral` by router, between the two models of `pair`; `reliability` by model, `before` the same on the scale of before.
    `missing` says of a curve that can't be had why."""

    deferral: Mapping[str, Deferral] = {}
    reliability: Mapping[str, Reliability] = {}
    before: Mapping[str, Reliability] = {}
    pair: tuple[str, str] = ("small", "large")
    missing: Mapping[str, str] = {}


def curves(orders: Mapping[str, Floats], p_good: Floats, quality: Floats, models: Sequence[str]) -> Curves:
    """Of routers that send prompts to the large model in these orders [n], highest first; `p_good`, `quality` [n, models]."""
    first, last = first_and_last(models)
    return Curves(
        deferral={name: deferral(order, quality[:, first], quality[:, last]) for name, order in orders.items()},
        reliability=reliabilities(p_good, quality, models),
        pair=(models[first], models[last]),
    )


def gapless(found: Curves) -> str | None:
    """Why what is a part of the gap between both models is not told; None where there is one."""
    (small, large), line = found.pair, next(iter(found.deferral.values())).quality
    if line[-1] - line[0] > metrics.LEAST_GAP:
        return None
    what = "ties with" if abs(line[-1] - line[0]) <= metrics.LEAST_GAP else "is worse than"
    return (
        f"{large} {what} {small} on average ({line[-1]:.3f} and {line[0]:.3f}), so there is no gap to recover: "
        "what is a part of one (APGR, CPT) is not told"
    )


def reliabilities(p_good: Floats, quality: Floats, models: Sequence[str]) -> Mapping[str, Reliability]:
    """By model; both arrays are [n, models]."""
    return {model: reliability(p_good[:, at], quality[:, at]) for at, model in enumerate(models)}


def deferral(score: Floats, q_small: Floats, q_large: Floats) -> Deferral:
    """The curve at 41 shares from none to all.

    >>> deferral(np.array([1.0, 0.0]), np.zeros(2), np.ones(2)).quality[::20]
    (0.0, 0.5, 1.0)
    """
    curve = metrics.deferral_curve(score, q_small, q_large)
    shares = np.linspace(0.0, 1.0, POINTS)
    return Deferral(tuple(shares.tolist()), tuple(np.interp(shares, curve.share, curve.quality).tolist()))


def reliability(p_good: Floats, quality: Floats) -> Reliability:
    """At most ten bins by predicted chance, lowest first.

    >>> reliability(np.array([0.2, 0.9]), np.array([0.0, 1.0]))
    Reliability(predicted=(0.2, 0.9), observed=(0.0, 1.0), prompts=(1, 1))
    """
    order = np.argsort(p_good, kind="stable")
    bins = [rows for rows in np.array_split(order, _BINS) if len(rows)]
    return Reliability(_means(p_good, bins), _means(quality, bins), tuple(map(len, bins)))


def _means(values: Floats, bins: Sequence[metrics.Rows]) -> tuple[float, ...]:
    return tuple(float(values[rows].mean()) for rows in bins)
