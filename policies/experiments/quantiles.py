"""Rates and quantiles with bounds that hold at every look: beta-binomial mixtures (Howard and Ramdas, 1906.09712).

A value is below its distribution's p-quantile with chance p, so counts of values below a point are sums of bounded steps,
and a mixture of likelihood ratios over a beta distribution is an e-process for "the quantile is here".
"""

import math
from collections.abc import Callable, Mapping

from policies.experiments.mixture import rho_for

HALVINGS = 60


def log_e_of_rate(events: float, count: float, rate: float, opt_count: float, alpha: float) -> float:
    """Log of the two-sided e-value against "each event has chance `rate`". It is sharpest around `opt_count`.

    >>> log_e_of_rate(50, 100, 0.5, 100, 0.05) < 0 < log_e_of_rate(80, 100, 0.5, 100, 0.05)
    True
    """
    if not 0 < rate < 1:
        impossible = events > 0 if rate <= 0 else events < count
        return math.inf if impossible else 0.0
    spread = rate * (1 - rate)
    weight = max(rho_for(opt_count * spread, alpha) - spread, 1e-3 * spread)
    prior_events, prior_others = weight / (1 - rate), weight / rate
    others = count - events
    grown = log_beta(prior_events + events, prior_others + others) - log_beta(prior_events, prior_others)
    return grown - events * math.log(rate) - others * math.log(1 - rate)


def rate_interval(events: float, count: float, opt_count: float, alpha: float) -> tuple[float, float]:
    """Where the rate is, at every look with chance 1 - alpha.

    >>> [round(end, 5) for end in rate_interval(700, 1000, 100, 0.05)]
    [0.65163, 0.74595]
    """
    if not count:
        return 0.0, 1.0
    share = events / count
    limit = -math.log(alpha)

    def refuted(rate: float) -> bool:
        return log_e_of_rate(events, count, rate, opt_count, alpha) > limit

    low = 0.0 if not refuted(0.0) else _edge(0.0, share, refuted)
    high = 1.0 if not refuted(1.0) else _edge(1.0, share, refuted)
    return low, high


def _edge(out: float, inside: float, refuted: Callable[[float], bool]) -> float:
    for _ in range(HALVINGS):
        middle = (out + inside) / 2
        out, inside = (middle, inside) if refuted(middle) else (out, middle)
    return inside


def log_e_of_quantiles(
    seen_a: Mapping[int, int], seen_b: Mapping[int, int], quantile: float, opt_count: float, alpha: float
) -> float:
    """Log of the e-value against "both samples have the same quantile": the least, over points, of both sides' evidence that
    it is not there. Arguments map each value to how often it was seen (rounded to bins, this tests the binned values)."""
    count_a, count_b = sum(seen_a.values()), sum(seen_b.values())
    upto_a = upto_b = 0
    least = math.inf
    for point in sorted({*seen_a, *seen_b}):
        before_a, before_b = upto_a, upto_b
        upto_a, upto_b = upto_a + seen_a.get(point, 0), upto_b + seen_b.get(point, 0)
        here = _against(before_a, upto_a, count_a, quantile, opt_count=opt_count, alpha=alpha)
        least = min(least, here + _against(before_b, upto_b, count_b, quantile, opt_count=opt_count, alpha=alpha))
    return least


def _against(before: int, upto: int, count: int, quantile: float, *, opt_count: float, alpha: float) -> float:
    """Evidence that the quantile is not at a point which `before` of `count` values are below and `upto` are not above."""
    if before <= quantile * count <= upto:
        return log_e_of_rate(quantile * count, count, quantile, opt_count, alpha)
    nearest = before if before > quantile * count else upto
    return log_e_of_rate(nearest, count, quantile, opt_count, alpha)


def log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
