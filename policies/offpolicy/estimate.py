"""The mean reward that another policy would have had, from the log of this one, with an interval.

Inverse propensity scores, self-normalised and clipped (Swaminathan and Joachims 2015); with predictions, doubly robust (Dudík,
Langford and Li 2011). Intervals by the jackknife over units: turns of one conversation are no independent evidence.
"""

from collections.abc import Sequence
from math import sqrt

import msgspec

from policies.offpolicy.sample import Found, Interval, Refused, Sample
from policies.offpolicy.spread import freedom, heavy, t_quantile, worth

CLIP = 200.0
"""Weights above this are cut: it takes a choice that was made with less than one chance in 200."""

MOST_UNSEEN = 0.5
"""Where the log shows less than half of what another policy would do, its value is not told."""

FEWEST = 5.0
"""Independent units below which no interval is told."""

LEAST_FREEDOM = 4.0
"""Of Student's t. With less evidence than that an interval is as wide as one unit more makes it."""

Bounds = tuple[float, float]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two that are compared. `pulls`: what each unit moves the mean by. `unseen`: the share of its choices that the
    log does not show; the mean is of the others. `weights` are sums by unit."""

    mean: float
    pulls: Sequence[float]
    weights: Sequence[float]
    unseen: float = 0.0
    clipped: float = 0.0


def estimate(
    samples: Sequence[Sample],
    *,
    against: Sequence[Sample] | None = None,
    bounds: Bounds | None = None,
    clip: float = CLIP,
    level: float = 0.95,
) -> Found | Refused:
    """What the other policy comes to, and how far that is from the log itself, or from what the policy of `against` comes to
    (the same choices, with its chances).

    `bounds` of a reward, where it has some: what the log cannot show lies between them, and the interval is wide enough for
    all of it. Without bounds nothing is told unless the log shows everything.
    """
    other = side(samples, clip, bounds)
    before = as_logged(samples) if against is None else side(against, clip, bounds)
    if isinstance(other, Refused):
        return other
    if isinstance(before, Refused):
        return before
    effective = worth(other.weights)
    free = min(freedom(other.weights), freedom(before.weights))
    surely = t_quantile(level, max(LEAST_FREEDOM, free))
    return Found(
        mean=_mean_of(other, bounds, surely),
        change=_between(before, other, bounds, surely),
        effective=effective,
        clipped=other.clipped,
        unseen=other.unseen,
    )


def side(samples: Sequence[Sample], clip: float, bounds: Bounds | None) -> Side | Refused:
    """The policy whose chances these samples have."""
    weights = [min(one.weight, clip) for one in samples]
    shown = sum([1 - one.open for one in samples])
    if not sum(weights):
        return Refused("nothing of what the policy would do was done where the log shows it")
    kept = sum(weights) / sum([one.weight for one in samples])
    unseen = 1 - kept * shown / len(samples)
    if unseen > (MOST_UNSEEN if bounds else 0):
        told = f"the log has no evidence on {unseen:.1%} of what the policy would do"
        return Refused(told if bounds else f"{told}, which may cost anything")
    found = _weighted(samples, weights, shown, unseen)
    effective = worth(found.weights)
    if effective < FEWEST:
        return Refused(f"the evidence is worth {effective:.1f} independent requests, less than {FEWEST:g}")
    return found


def as_logged(samples: Sequence[Sample]) -> Side:
    """What was done."""
    mean, count = sum([one.reward for one in samples]) / len(samples), len(samples)
    sums = _by_unit(samples, [((one.reward - mean) / count, 1.0) for one in samples])
    return Side(mean=mean, pulls=[pull for pull, _ in sums], weights=[weight for _, weight in sums])


def _weighted(samples: Sequence[Sample], weights: Sequence[float], shown: float, unseen: float) -> Side:
    """`rest` is what predictions miss. Units pull on it as the jackknife says: by what it moves when they are left out."""
    total, pairs = sum(weights), list(zip(samples, weights, strict=True))
    base = sum([one.expected for one in samples]) / shown
    rest = sum([weight * (one.reward - one.predicted) for one, weight in pairs]) / total
    ahead = _by_unit(samples, [(one.expected - base * (1 - one.open), 0.0) for one in samples])
    missed = _by_unit(samples, [(weight * (one.reward - one.predicted - rest), weight) for one, weight in pairs])
    pulls = [
        more / shown + moved / max(total - weight, total * 1e-9)
        for (more, _), (moved, weight) in zip(ahead, missed, strict=True)
    ]
    clipped = sum([weight < one.weight for one, weight in pairs]) / len(samples)
    return Side(mean=base + rest, pulls=pulls, weights=[weight for _, weight in missed], unseen=unseen, clipped=clipped)


def _by_unit(samples: Sequence[Sample], values: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Sums of both values, for each unit in the order in which it comes first."""
    sums: dict[float, tuple[float, float]] = {}
    for one, (a, b) in zip(samples, values, strict=True):
        before = sums.get(one.unit, (0.0, 0.0))
        sums[one.unit] = (before[0] + a, before[1] + b)
    return list(sums.values())


def _mean_of(found: Side, bounds: Bounds | None, surely: float) -> Interval:
    low, high = bounds or (0.0, 0.0)
    seen = 1 - found.unseen
    half = surely * seen * _length([*found.pulls, one_more(found, bounds)])
    at = seen * found.mean
    spans = (at + found.unseen * (low + high) / 2, at - half + found.unseen * low, at + half + found.unseen * high)
    value, least, most = [min(max(span, low), high) for span in spans] if bounds else spans
    return Interval(value=value, low=least, high=most)


def _between(before: Side, after: Side, bounds: Bounds | None, surely: float) -> Interval:
    """How far `after` is from `before`; both are of the same units, so what moves both alike moves nothing."""
    low, high = bounds or (0.0, 0.0)
    was, seen = 1 - before.unseen, 1 - after.unseen
    moves = [seen * a - was * b for a, b in zip(after.pulls, before.pulls, strict=True)]
    half = surely * _length([*moves, seen * one_more(after, bounds)])
    at, middle = seen * after.mean - was * before.mean, (low + high) / 2
    return Interval(
        value=at + (after.unseen - before.unseen) * middle,
        low=at - half + after.unseen * low - before.unseen * high,
        high=at + half + after.unseen * high - before.unseen * low,
    )


def one_more(found: Side, bounds: Bounds | None) -> float:
    """What one unit more, as heavy as those that matter and at the bound that is farther off, would move the mean by: a handful
    of units that all came out alike is not sure of anything."""
    if bounds is None:
        return 0.0
    return max(bounds[1] - found.mean, found.mean - bounds[0]) * heavy(found.weights) / sum(found.weights)


def _length(values: Sequence[float]) -> float:
    return sqrt(sum([value * value for value in values]))
