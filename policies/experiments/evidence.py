"""What is known of one metric of one treatment beside control: a frozen value of constant size, brought on by each outcome.

Without a margin it asks whether the two differ. With one it asks whether the treatment is worse by more than that: control's
outcomes are moved to where the margin lies, so that at the margin both sides are alike.
"""

import math
from collections.abc import Sequence

import msgspec

from policies.experiments import bins, scores, two_by_two
from policies.experiments import failing as failures
from policies.experiments.bins import Bins
from policies.experiments.failing import Failing
from policies.experiments.plan import Margin, Metric
from policies.experiments.quantiles import log_e_of_quantiles
from policies.experiments.ratio import linearised
from policies.experiments.scores import Draw, Scores
from policies.experiments.two_by_two import Rates, log_mean_of

Value = float | tuple[float, float]
"""An outcome; of a ratio its top and bottom."""

SLOWEST_STEP = 0.01
"""How far, in logs, a running quantile moves at least for an outcome, over the spread that it expects."""

SPREAD = 1.0


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """`rates` test events of units that come once against a margin; of units that come again `firsts` do, by their first
    outcomes, and `failing`. `point` is the
    log of the running quantile that outcomes are held against, `tops` and `bottoms` are a ratio's sums, `treat_bins` and
    `control_bins` a quantile's distributions. `ramped`: the chances of assignment have changed. `peak` is the greatest log of
    an e-value so far."""

    metric: Metric
    alpha: float
    margin: Margin | None = None
    scores: Scores = Scores()
    rates: Rates | None = None
    failing: Failing | None = None
    firsts: Rates | None = None
    point: float = 0.0
    seen: int = 0
    tops: float = 0.0
    bottoms: float = 0.0
    treat_bins: Bins = {}
    control_bins: Bins = {}
    chance: float = 0.0
    ramped: bool = False
    peak: float = 0.0

    @property
    def log_e(self) -> float:
        """The evidence as it stands."""
        if self.rates is not None:
            return self.rates.log_e
        if self.margin is None:
            return self.scores.log_e
        if self.failing is None:
            return self.scores.log_e_above
        again = log_mean_of((self.failing.log_e, self.scores.log_e_above))
        return again if self.firsts is None else log_mean_of((self.firsts.log_e, again))


def begin(metric: Metric, alpha: float, margin: Margin | None, *, once: bool) -> Evidence:
    """`once`: no unit comes twice."""
    events = metric.kind in ("binary", "quantile") and margin is not None
    return Evidence(
        metric=metric,
        alpha=alpha,
        margin=margin,
        rates=Rates() if events and once else None,
        failing=Failing() if events and not once else None,
        firsts=Rates() if events and not once else None,
    )


def see(evidence: Evidence, draw: Draw, value: Value, covariates: Sequence[float] = ()) -> Evidence:
    """After one more outcome. Covariates are known before assignment. Who was not drawn counts in tests of events alone."""
    if not draw.is_drawn and evidence.rates is None and evidence.failing is None:
        return evidence
    moved = badness(evidence, value, treated=draw.treated)
    outcome = held_against(evidence, moved)
    grown = scores.see(evidence.scores, draw, outcome, covariates, evidence.alpha) if draw.is_drawn else evidence.scores
    rates = evidence.rates
    if rates is not None and draw.treated is not None:
        rates = _event(evidence, rates, outcome > 0.5, draw)
    failing, firsts = evidence.failing, evidence.firsts
    if failing is not None and draw.treated is not None:
        failure = _is_failure(evidence, value, outcome)
        failing = _failure(evidence, failing, failure, draw)
        firsts = _event(evidence, firsts, failure, draw) if firsts is not None and draw.first else firsts
    fresh = msgspec.structs.replace(
        evidence,
        scores=grown,
        rates=rates,
        failing=failing,
        firsts=firsts,
        seen=evidence.seen + 1,
        chance=evidence.chance or draw.chance,
        ramped=evidence.ramped or (evidence.seen > 0 and abs(draw.chance - evidence.chance) > 1e-9),
        **_followed(evidence, draw, value, moved),
    )
    return msgspec.structs.replace(fresh, peak=max(fresh.peak, fresh.log_e))


def badness(evidence: Evidence, value: Value, *, treated: bool | None) -> Value:
    """The outcome as larger-is-worse, control's moved to the margin; without a margin as it is."""
    margin, metric = evidence.margin, evidence.metric
    if margin is None:
        return value
    if isinstance(value, tuple):
        sign = -1.0 if metric.better == "up" else 1.0
        top = sign * value[0]
        return (top if treated else margin.times * top + margin.plus * value[1]), value[1]
    worse = value if metric.better == "down" else 1 - value if metric.kind == "binary" else -value
    # The test of events has the margin in itself: it moves rates, which one outcome cannot show.
    if treated or (metric.kind == "binary" and evidence.rates is not None):
        return worse
    return margin.times * worse + margin.plus


def held_against(evidence: Evidence, value: Value) -> float:
    """The outcome as one number whose mean is compared."""
    if isinstance(value, tuple):
        at = evidence.tops / evidence.bottoms if evidence.bottoms else 0.0
        mean_bottom = evidence.bottoms / evidence.seen if evidence.bottoms else 1.0
        return linearised(*value, at, mean_bottom) if evidence.bottoms else 0.0
    if evidence.metric.kind == "quantile":
        return float(evidence.seen > 0 and math.log(max(value, bins.LEAST)) > evidence.point)
    return value


def _is_failure(evidence: Evidence, value: Value, outcome: float) -> bool:
    """As `_event`; what is better when more fails where it did not happen."""
    if evidence.metric.kind == "binary":
        return value == (evidence.metric.better == "down")
    return outcome > 0.5


def _failure(evidence: Evidence, failing: Failing, failure: bool, draw: Draw) -> Failing:
    return failures.see(
        failing,
        failure,
        treated=bool(draw.treated),
        chance=draw.chance,
        unit=draw.bucket or 0.0,
        margin=_margin_of(evidence),
    )


def _margin_of(evidence: Evidence) -> Margin:
    """Of a quantile it is in the amounts already."""
    return evidence.margin if evidence.metric.kind == "binary" and evidence.margin is not None else Margin()


def _event(evidence: Evidence, rates: Rates, event: bool, draw: Draw) -> Rates:
    """A binary outcome, or being above the running quantile."""
    margin = _margin_of(evidence)
    return two_by_two.see(rates, event, treated=bool(draw.treated), chance=draw.chance, margin=margin)


def _followed(evidence: Evidence, draw: Draw, value: Value, moved: Value) -> dict[str, object]:
    """What the next outcome is held against."""
    if isinstance(moved, tuple):
        return {"tops": evidence.tops + moved[0], "bottoms": evidence.bottoms + moved[1]}
    if evidence.metric.kind != "quantile" or isinstance(value, tuple):
        return {}
    known: dict[str, object] = {"point": _running(evidence, moved)}
    if draw.treated is not None and evidence.margin is None:
        name, of = ("treat_bins", evidence.treat_bins) if draw.treated else ("control_bins", evidence.control_bins)
        known[name] = bins.counted(of, value)
    return known


def _running(evidence: Evidence, value: float) -> float:
    log = math.log(max(value, bins.LEAST))
    return followed(evidence.point, evidence.seen, log, evidence.metric.quantile)


def followed(point: float, seen: int, log: float, quantile: float) -> float:
    """Robbins and Monro's running quantile, of logs, after one more; `seen` came before.

    >>> followed(0.0, 0, 2.5, 0.95)
    2.5
    """
    if not seen:
        return log
    return point + SPREAD * max(1 / (1 + seen / 10), SLOWEST_STEP) * ((log > point) - (1 - quantile))


def merged(one: Evidence, other: Evidence) -> Evidence:
    """What two gateways know, as one. Their outcomes are of different requests, so sums add and e-values multiply."""
    both = scores.merged(one.scores, other.scores)
    rates = None if one.rates is None or other.rates is None else two_by_two.merged(one.rates, other.rates, same=False)
    firsts = (
        None if one.firsts is None or other.firsts is None else two_by_two.merged(one.firsts, other.firsts, same=True)
    )
    failing = one.failing
    if failing is not None and other.failing is not None:
        failing = failures.merged(failing, other.failing)
    fresh = msgspec.structs.replace(
        one,
        scores=both,
        rates=rates,
        failing=failing,
        firsts=firsts,
        seen=one.seen + other.seen,
        tops=one.tops + other.tops,
        bottoms=one.bottoms + other.bottoms,
        treat_bins=bins.together(one.treat_bins, other.treat_bins),
        control_bins=bins.together(one.control_bins, other.control_bins),
        chance=one.chance or other.chance,
        ramped=one.ramped or other.ramped or bool(one.chance and other.chance and one.chance != other.chance),
    )
    return msgspec.structs.replace(fresh, peak=max(0.0, fresh.log_e))


def log_e_at_rest(evidence: Evidence) -> float:
    """The greatest evidence so far; of a quantile, while chances are steady, what both distributions say as wholes."""
    steady = evidence.metric.kind == "quantile" and evidence.margin is None and not evidence.ramped
    if not steady or evidence.scores.by_bucket or not (evidence.treat_bins and evidence.control_bins):
        return evidence.peak
    return log_e_of_quantiles(
        evidence.treat_bins, evidence.control_bins, evidence.metric.quantile, bins.OPT_COUNT, evidence.alpha
    )
