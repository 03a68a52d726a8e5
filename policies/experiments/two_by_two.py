"""Two rates under randomised assignment: the safe 2x2 test (Turner, Ly and Grunwald, 2106.02693), one request at a time.

Each outcome multiplies the e-value by how much likelier it is under what the past says of both rates than under the nearest
pair of rates that the null allows, weighted by the chances of assignment. Those chances may change from request to request,
and so may the rates: every factor has mean 1 at most, whatever they are. It is quickest where events are rare.

The money is parted among bets: one on what the past says of the treatment, which has to learn first, and some on its being a
few times worse than allowed, which is what a bad version is. Each is an e-value, and so is their mean.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from policies.experiments.plan import Margin

PRIOR = 0.18
"""Events, and non-events, that each side is taken to have had: the choice that the paper finds best in the worst case."""

RARE = 100
"""Requests for each event that control is taken to have had, where that is all that is known of it."""

TIMES = (1.5, 2.5, 4.0, 8.0)
"""How much worse than allowed a treatment may be, in odds: a bet on each, beside the one on what its own past says."""

BETS = 1 + len(TIMES)

EDGE = 1e-9
HALVINGS = 40
NEAR = 1e-13
DIGITS = 3
REMEMBERED = 4_096


class Rates(msgspec.Struct, frozen=True):
    """Events and requests of both sides, and what each bet's e-value has come to, in logs."""

    treat_events: float = 0.0
    treat_count: float = 0.0
    control_events: float = 0.0
    control_count: float = 0.0
    bets: tuple[float, ...] = (0.0,) * BETS

    @property
    def treat(self) -> float:
        return (self.treat_events + PRIOR) / (self.treat_count + 2 * PRIOR)

    @property
    def control(self) -> float:
        return (self.control_events + PRIOR) / (self.control_count + 2 * PRIOR)

    @property
    def rare(self) -> float:
        """Control's rate, where events are taken to be rare until it has shown otherwise."""
        return (self.control_events + PRIOR) / (self.control_count + RARE * PRIOR)

    @property
    def log_e(self) -> float:
        """Of all bets, as many parts of the same money."""
        return log_mean_of(self.bets)


def log_mean_of(logs: Sequence[float]) -> float:
    """The mean of e-values, by their logs.

    >>> round(log_mean_of([0.0, 0.0]), 12)
    0.0
    """
    top = max(logs)
    return top + math.log(sum([math.exp(log - top) for log in logs]) / len(logs))


def see(rates: Rates, event: bool, *, treated: bool, chance: float, margin: Margin) -> Rates:
    """After one outcome. `chance` is that of the treatment among the two sides. The null is "the treatment's rate is no more
    than the margin above control's".

    >>> worse = Rates()
    >>> for i in range(400):
    ...     worse = see(worse, i % 8 == 0, treated=i % 2 == 0, chance=0.5, margin=Margin())
    >>> worse.log_e > math.log(100)
    True
    """
    pairs = believed(rates, margin)
    gains = [gain(event, pair, nearest(*pair, chance, margin), treated=treated) for pair in pairs]
    return msgspec.structs.replace(
        rates,
        treat_events=rates.treat_events + (event and treated),
        treat_count=rates.treat_count + treated,
        control_events=rates.control_events + (event and not treated),
        control_count=rates.control_count + (not treated),
        bets=tuple([log + more for log, more in zip(rates.bets, gains, strict=True)]),
    )


def merged(one: Rates, other: Rates, *, same: bool) -> Rates:
    """Of two gateways. Of different requests each bet's e-values multiply; where both may have seen the `same` units, which
    count by their first outcomes, they are averaged."""
    pairs = list(zip(one.bets, other.bets, strict=True))
    return Rates(
        one.treat_events + other.treat_events,
        one.treat_count + other.treat_count,
        one.control_events + other.control_events,
        one.control_count + other.control_count,
        tuple([log_mean_of(pair) if same else sum(pair) for pair in pairs]),
    )


def believed(rates: Rates, margin: Margin) -> list[tuple[float, float]]:
    """The pair of rates that each bet is on. Rounded, so that the same pairs come again: what is nearest to them is known."""
    rare = rounded(rates.rare)
    allowed = min(margin.times * rare + margin.plus, 0.99)
    odds = allowed / (1 - allowed)
    worse = [(times * odds / (1 + times * odds), rare) for times in TIMES]
    return [(rounded(rates.treat), rounded(rates.control)), *worse]


def rounded(rate: float) -> float:
    """
    >>> rounded(0.0123456), rounded(0.98765)
    (0.0123, 0.988)
    """
    scale = 10.0 ** (DIGITS - 1 - math.floor(math.log10(rate)))
    return min(round(rate * scale) / scale, 1 - EDGE)


def gain(event: bool, believed: tuple[float, float], null: tuple[float, float], *, treated: bool) -> float:
    """How much likelier this outcome is, in logs."""
    side, nulled = (believed[0], null[0]) if treated else (believed[1], null[1])
    return math.log(side / nulled) if event else math.log((1 - side) / (1 - nulled))


def _equal(treat: float, control: float, chance: float) -> tuple[float, float]:
    pooled = chance * treat + (1 - chance) * control
    return pooled, pooled


@lru_cache(REMEMBERED)
def nearest(treat: float, control: float, chance: float, margin: Margin) -> tuple[float, float]:
    """The pair of rates within the margin that is nearest in relative entropy. The pairs that the null allows are a convex
    set, so the ratio to its nearest member is an e-value against all of them.

    >>> nearest(0.01, 0.02, 0.5, Margin())
    (0.01, 0.02)
    >>> [round(rate, 6) for rate in nearest(0.04, 0.02, 0.5, Margin())]
    [0.03, 0.03]
    """
    if treat <= margin.times * control + margin.plus:
        return treat, control
    if margin.times == 1 and margin.plus == 0:
        return _equal(treat, control, chance)
    low, high = control, min(1.0, max(control, (treat - margin.plus) / margin.times))
    at = (low + high) / 2
    for _ in range(HALVINGS):
        slope, curve = _bent(at, treat, control, chance, margin)
        low, high = (at, high) if slope < 0 else (low, at)
        before, guess = at, at - slope / curve
        at = guess if low <= guess <= high else (low + high) / 2
        if abs(at - before) <= NEAR * at:
            break
    return _inside(margin.times * at + margin.plus), _inside(at)


def _bent(at: float, treat: float, control: float, chance: float, margin: Margin) -> tuple[float, float]:
    """First and second derivative of the distance, along control's rate."""
    shifted, at = _inside(margin.times * at + margin.plus), _inside(at)
    one, two = _parts(shifted, treat)
    three, four = _parts(at, control)
    own, rest = chance * margin.times, 1 - chance
    return own * one + rest * three, own * margin.times * two + rest * four


def _parts(at: float, rate: float) -> tuple[float, float]:
    """Of the relative entropy of `rate` from `at`."""
    up, down = rate / at, (1 - rate) / (1 - at)
    return down - up, up / at + down / (1 - at)


def _inside(rate: float) -> float:
    return min(max(rate, EDGE), 1 - EDGE)
