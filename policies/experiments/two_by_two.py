"""Two rates under randomised assignment: the safe 2x2 test (Turner, Ly and Grunwald, 2106.02693), one request at a time.

Each outcome multiplies the e-value by how much likelier it is under what the past says of both rates than under the nearest
pair of rates that the null allows, weighted by the chances of assignment. Those chances may change from request to request,
and so may the rates: every factor has mean 1 at most, whatever they are. It is quickest where events are rare.
"""

import math

import msgspec

from policies.experiments.plan import Margin

PRIOR = 0.18
"""Events, and non-events, that each side is taken to have had: the choice that the paper finds best in the worst case."""

EDGE = 1e-9
HALVINGS = 40


class Rates(msgspec.Struct, frozen=True):
    """Events and requests of both sides, and the log of the e-value."""

    treat_events: float = 0.0
    treat_count: float = 0.0
    control_events: float = 0.0
    control_count: float = 0.0
    log_e: float = 0.0

    @property
    def treat(self) -> float:
        return (self.treat_events + PRIOR) / (self.treat_count + 2 * PRIOR)

    @property
    def control(self) -> float:
        return (self.control_events + PRIOR) / (self.control_count + 2 * PRIOR)


def see(rates: Rates, event: bool, *, treated: bool, chance: float, margin: Margin | None) -> Rates:
    """After one outcome. `chance` is that of the treatment among the two sides. With a `margin` the null is "the treatment's
    rate is no more than the margin above control's", without one "both are the same".

    >>> worse = Rates()
    >>> for i in range(400):
    ...     worse = see(worse, i % 8 == 0, treated=i % 2 == 0, chance=0.5, margin=Margin())
    >>> worse.log_e > math.log(100)
    True
    """
    treat, control = rates.treat, rates.control
    null = _equal(treat, control, chance) if margin is None else nearest(treat, control, chance, margin)
    side, nulled = (treat, null[0]) if treated else (control, null[1])
    gain = math.log(side / nulled) if event else math.log((1 - side) / (1 - nulled))
    return msgspec.structs.replace(
        rates,
        treat_events=rates.treat_events + (event and treated),
        treat_count=rates.treat_count + treated,
        control_events=rates.control_events + (event and not treated),
        control_count=rates.control_count + (not treated),
        log_e=rates.log_e + gain,
    )


def _equal(treat: float, control: float, chance: float) -> tuple[float, float]:
    pooled = chance * treat + (1 - chance) * control
    return pooled, pooled


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
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _slope(middle, treat, control, chance, margin) < 0 else (low, middle)
    return _inside(margin.times * low + margin.plus), _inside(low)


def _slope(at: float, treat: float, control: float, chance: float, margin: Margin) -> float:
    """Of the distance, along control's rate."""
    shifted, at = _inside(margin.times * at + margin.plus), _inside(at)
    one = chance * margin.times * (shifted - treat) / (shifted * (1 - shifted))
    return one + (1 - chance) * (at - control) / (at * (1 - at))


def _inside(rate: float) -> float:
    return min(max(rate, EDGE), 1 - EDGE)
