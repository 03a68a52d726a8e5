"""What pairs say of a guardrail before anybody has the change: of one request what control came to, and what the change did.

Nothing is drawn here, for both are known of each request, so what is tested is their difference. Events, and being above a
running quantile, lie in a known range: bets on "the mean difference is not above the margin" are exact at every look
(Waudby-Smith and Ramdas, 2010.09686; fixed parts of the money, so gateways' bets multiply). Amounts go by the normal mixture
over the differences' own squares, exact where at the margin both are alike (de la Pena, 1999).
"""

import math

import msgspec

from policies.experiments import bins
from policies.experiments.bins import Bins, quantile_of
from policies.experiments.evidence import followed
from policies.experiments.mixture import log_e_above, rho_for
from policies.experiments.plan import Guardrail
from policies.experiments.scores import FEWEST
from policies.experiments.two_by_two import log_mean_of

TOLD = frozenset(("error", "microusd", "output_tokens", "ttft_ms", "tpot_ms", "duration_ms"))
"""Sources of which a pair says something; the others wait for traffic."""

PARTS = (0.9, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04, 0.02)
"""Of what a bet can lose at once."""

TUNED_FOR = 500
"""Pairs at which a difference of amounts is seen soonest."""


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """One guardrail: pairs, both sides' sums (of quantiles their distributions), each bet's log, sums of differences and of
    their squares, the log of the running quantile, the greatest log of an e-value so far."""

    count: int = 0
    treat: float = 0.0
    control: float = 0.0
    treat_bins: Bins = {}
    control_bins: Bins = {}
    bets: tuple[float, ...] = (0.0,) * len(PARTS)
    total: float = 0.0
    squares: float = 0.0
    rho: float = 0.0
    point: float = 0.0
    peak: float = 0.0

    @property
    def log_e(self) -> float:
        if any(self.bets):
            return log_mean_of(self.bets)
        return log_e_above(self.total, self.squares, self.rho) if self.rho else 0.0


def is_told(rail: Guardrail) -> bool:
    """Whether pairs say anything of it."""
    return rail.metric.source in TOLD and rail.metric.kind != "ratio"


def compare(paired: Paired, rail: Guardrail, treat: float, control: float) -> Paired:
    """After one more pair.

    >>> from policies.experiments.metrics import MEASURED
    >>> from policies.experiments.plan import Margin
    >>> errors, state = Guardrail(name="e", metric=MEASURED["error_rate"], margin=Margin(plus=0.005), alpha=0.01), Paired()
    >>> for i in range(200):
    ...     state = compare(state, errors, float(i % 10 == 0), 0.0)
    >>> state.peak > math.log(100)
    True
    """
    seen = msgspec.structs.replace(
        paired, count=paired.count + 1, treat=paired.treat + treat, control=paired.control + control
    )
    if rail.metric.kind == "quantile":
        grown = _tails(seen, rail, treat, control)
    elif rail.metric.kind == "binary":
        grown = _bet(seen, treat - rail.margin.times * control - rail.margin.plus, rail.margin.times + rail.margin.plus)
    else:
        grown = _amounts(seen, treat - rail.margin.times * control - rail.margin.plus, rail.alpha)
    return msgspec.structs.replace(grown, peak=max(grown.peak, grown.log_e))


def _tails(paired: Paired, rail: Guardrail, treat: float, control: float) -> Paired:
    """Which of the two is above the running quantile, control moved to the margin."""
    moved, before = rail.margin.times * control + rail.margin.plus, paired.count - 1
    logs = [math.log(max(value, bins.LEAST)) for value in (treat, moved)]
    above = [before > 0 and log > paired.point for log in logs]
    point = paired.point
    for number, log in enumerate(logs):
        point = followed(point, 2 * before + number, log, rail.metric.quantile)
    told = msgspec.structs.replace(
        paired,
        point=point,
        treat_bins=bins.counted(paired.treat_bins, treat),
        control_bins=bins.counted(paired.control_bins, control),
    )
    return _bet(told, float(above[0]) - float(above[1]), 1.0)


def _bet(paired: Paired, gain: float, most: float) -> Paired:
    """`gain` has a mean of 0 at most under the null; `most` can be lost at once."""
    bets = tuple([log + math.log1p(part / most * gain) for log, part in zip(paired.bets, PARTS, strict=True)])
    return msgspec.structs.replace(paired, bets=bets)


def _amounts(paired: Paired, gain: float, alpha: float) -> Paired:
    """rho hangs on the size of differences, not on their signs, which are all that chance has."""
    total, squares = paired.total + gain, paired.squares + gain * gain
    rho = paired.rho
    if not rho and paired.count >= FEWEST and squares:
        rho = rho_for(squares / paired.count * TUNED_FOR, 2 * alpha)
    return msgspec.structs.replace(paired, total=total, squares=squares, rho=rho)


def shown(paired: Paired, rail: Guardrail) -> tuple[float | None, float | None]:
    """The change's value and control's, as the guardrail's metric has it; None before there is one."""
    if not paired.count:
        return None, None
    if rail.metric.kind == "quantile":
        at = rail.metric.quantile
        return quantile_of(paired.treat_bins, at), quantile_of(paired.control_bins, at)
    return paired.treat / paired.count, paired.control / paired.count


def merged(one: Paired, other: Paired) -> Paired:
    """Of two gateways, whose pairs are of different requests."""
    larger = one if one.count >= other.count else other
    fresh = msgspec.structs.replace(
        larger,
        count=one.count + other.count,
        treat=one.treat + other.treat,
        control=one.control + other.control,
        treat_bins=bins.together(one.treat_bins, other.treat_bins),
        control_bins=bins.together(one.control_bins, other.control_bins),
        bets=tuple([a + b for a, b in zip(one.bets, other.bets, strict=True)]),
        total=one.total + other.total,
        squares=one.squares + other.squares,
        rho=larger.rho or one.rho or other.rho,
        peak=0.0,
    )
    return msgspec.structs.replace(fresh, peak=max(0.0, fresh.log_e))
