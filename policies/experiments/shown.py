"""What the evidence shows of both sides, and of the change with its interval."""

from policies.experiments.bins import quantile_interval, quantile_of
from policies.experiments.evidence import Evidence
from policies.experiments.lift import lift, lift_interval
from policies.experiments.scores import interval


def shown(evidence: Evidence) -> tuple[float | None, float | None]:
    """The treatment's and control's value, None before the first look: what each would be, had all been in it."""
    metric, means = evidence.metric, evidence.scores.means
    if metric.kind == "quantile":
        return quantile_of(evidence.treat_bins, metric.quantile), quantile_of(evidence.control_bins, metric.quantile)
    if means is None:
        return None, None
    at = evidence.tops / evidence.bottoms if metric.kind == "ratio" and evidence.bottoms else 0.0
    return max(0.0, at + means[0]), max(0.0, at + means[1])


def so_far(evidence: Evidence) -> tuple[float | None, float | None]:
    """The same; before the first look, where a guardrail may break already, plain averages."""
    treat, control = shown(evidence)
    if control is not None or evidence.metric.kind not in ("binary", "mean"):
        return treat, control
    sides = (evidence.scores.treat, evidence.scores.control)
    one, other = [side.total / side.count if side.count else None for side in sides]
    return one, other


def changed(evidence: Evidence, alpha: float) -> tuple[float | None, float | None, float | None]:
    """The change with its interval: points of a rate, else relative. Of a quantile by both sides' own intervals."""
    metric = evidence.metric
    if metric.kind == "quantile":
        return _quantile_change(evidence, alpha)
    if metric.kind == "binary" or metric.source == "score":
        ends = interval(evidence.scores, alpha)
        return evidence.scores.effect, *(ends or (None, None))
    if metric.kind == "ratio":
        return _ratio_change(evidence, alpha)
    ends = lift_interval(evidence.scores, alpha)
    return lift(evidence.scores), *(ends or (None, None))


def _ratio_change(evidence: Evidence, alpha: float) -> tuple[float | None, float | None, float | None]:
    treat, control = shown(evidence)
    if treat is None or not control:
        return None, None, None
    ends = interval(evidence.scores, alpha)
    return treat / control - 1, *((ends[0] / control, ends[1] / control) if ends else (None, None))


def _quantile_change(evidence: Evidence, alpha: float) -> tuple[float | None, float | None, float | None]:
    treat, control = shown(evidence)
    if treat is None or not control:
        return None, None, None
    one, other = (
        quantile_interval(bins, evidence.metric.quantile, alpha / 2)
        for bins in (evidence.treat_bins, evidence.control_bins)
    )
    if one is None or other is None:
        return treat / control - 1, None, None
    return treat / control - 1, one[0] / other[1] - 1, one[1] / other[0] - 1
