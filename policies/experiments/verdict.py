"""What the evidence comes to, in words with its numbers."""

import math
from collections.abc import Iterator
from typing import Literal

import msgspec

from policies.experiments import paired
from policies.experiments.bins import quantile_interval, quantile_of
from policies.experiments.evidence import Evidence, log_e_at_rest
from policies.experiments.lift import lift, lift_interval
from policies.experiments.mixture import anytime_p
from policies.experiments.plan import Act, Experiment, Guardrail, Metric
from policies.experiments.scores import interval
from policies.experiments.trial import Trial, alpha_of, key, metrics_of, rails

Sense = Literal["better", "worse", "undecided"]
Outcome = Literal["running", "winner", "control", "breach", "sample_ratio", "over"]

UNITS = {"microusd": "$", "microusd_of_success": "$", "ttft_ms": "ms", "tpot_ms": "ms", "duration_ms": "ms"}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one treatment. `change` is relative (of rates: in points) with its interval; that holds at every look, and
    so does `p`."""

    variant: str
    metric: str
    control: float | None
    treat: float | None
    change: float | None
    low: float | None
    high: float | None
    p: float
    sense: Sense
    requests: int
    words: str


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    variant: str
    guardrail: str
    act: Act
    p: float
    words: str


class PairFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What pairs say of one guardrail: the change's value and control's; `p` holds at every look."""

    variant: str
    guardrail: str
    metric: str
    control: float | None
    treat: float | None
    p: float
    pairs: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` says what there is to do: breach: a guardrail was broken; sample_ratio: shares are off, so nothing else counts;
    winner and control: decided for `variant`; over: its time is up undecided."""

    experiment: str
    outcome: Outcome
    variant: str
    words: str
    findings: tuple[Finding, ...]
    breaches: tuple[Breach, ...]
    sample_ratio_p: float


def verdict(experiment: Experiment, trial: Trial, age_s: float) -> Verdict:
    """What may be concluded now; looking does not wear it out."""
    findings = tuple(findings_of(experiment, trial))
    breaches = tuple(breaches_of(experiment, trial))
    ratio_p = anytime_p(trial.units.log_e)
    outcome, variant, words = _conclusion(experiment, findings, breaches, ratio_p, age_s=age_s)
    return Verdict(
        experiment=experiment.name,
        outcome=outcome,
        variant=variant,
        words=words,
        findings=findings,
        breaches=breaches,
        sample_ratio_p=ratio_p,
    )


def findings_of(experiment: Experiment, trial: Trial) -> Iterator[Finding]:
    """By treatment, the primary metric first."""
    for treatment in experiment.treatments:
        for metric in metrics_of(experiment):
            yield finding(
                treatment, trial.metrics[key(treatment, metric.name)], alpha_of(experiment), experiment.control
            )


def breaches_of(experiment: Experiment, trial: Trial) -> Iterator[Breach]:
    for treatment, rail in rails(experiment):
        found = trial.watched[key(treatment, rail.name)]
        if found.peak >= -math.log(rail.alpha):
            treat, control = so_far(trial.metrics[key(treatment, rail.metric.name)])
            words = f"{treatment} breaks the guardrail {rail.name}: {values(rail.metric, control, treat)}"
            yield Breach(variant=treatment, guardrail=rail.name, act=rail.act, p=anytime_p(found.peak), words=words)
        yield from _breach_of_pairs(trial, treatment, rail)


def _breach_of_pairs(trial: Trial, treatment: str, rail: Guardrail) -> Iterator[Breach]:
    """Nobody has the change while pairs are compared, so there is nothing to roll back: it is held."""
    found = trial.paired.get(key(treatment, rail.name))
    if found is not None and found.peak >= -math.log(rail.alpha):
        treat, control = paired.shown(found, rail)
        told = f"{values(rail.metric, control, treat)} in {found.count} pairs"
        words = f"the shadow of {treatment} breaks the guardrail {rail.name}: {told}"
        yield Breach(variant=treatment, guardrail=rail.name, act="hold", p=anytime_p(found.peak), words=words)


def pair_findings(experiment: Experiment, trial: Trial) -> Iterator[PairFinding]:
    """Of every guardrail that pairs have said something of."""
    for treatment, rail in rails(experiment):
        found = trial.paired.get(key(treatment, rail.name))
        if found is not None:
            treat, control = paired.shown(found, rail)
            yield PairFinding(
                variant=treatment,
                guardrail=rail.name,
                metric=rail.metric.name,
                control=control,
                treat=treat,
                p=anytime_p(found.peak),
                pairs=found.count,
            )


def _conclusion(
    experiment: Experiment, findings: tuple[Finding, ...], breaches: tuple[Breach, ...], ratio_p: float, *, age_s: float
) -> tuple[Outcome, str, str]:
    if breaches:
        return "breach", experiment.control, "; ".join([breach.words for breach in breaches])
    if ratio_p <= experiment.sample_ratio_alpha:
        told = "variants do not get the units that they should, so nothing can be concluded"
        return "sample_ratio", "", f"{told} (p {ratio_p:.2g}): find where requests of one of them are lost"
    own = [found for found in findings if experiment.primary and found.metric == experiment.primary.name]
    better = [found for found in own if found.sense == "better"]
    if better:
        best = max(better, key=lambda found: abs(found.change or 0.0))
        return "winner", best.variant, best.words
    if own and all(found.sense == "worse" for found in own):
        return "control", experiment.control, "; ".join([found.words for found in own])
    if experiment.at_most_s is not None and age_s >= experiment.at_most_s:
        return "over", experiment.control, "its time is up, and no difference was seen: " + _undecided(own)
    return "running", "", _undecided(own)


def _undecided(findings: list[Finding]) -> str:
    return "; ".join([found.words for found in findings]) or "no primary metric is stated: guardrails are watched alone"


def finding(treatment: str, evidence: Evidence, alpha: float, control: str) -> Finding:
    metric = evidence.metric
    found, against = shown(evidence)
    change, low, high = changed(evidence, alpha)
    p = anytime_p(log_e_at_rest(evidence))
    sense: Sense = "undecided"
    if p <= alpha:
        sense = "better" if (evidence.scores.effect > 0) == (metric.better == "up") else "worse"
    told = f"{treatment} is {sense} than {control} by {metric.name}" if sense != "undecided" else (
        f"{treatment} and {control} are not told apart by {metric.name}"
    )  # fmt: skip
    requests = evidence.scores.treat.count + evidence.scores.control.count
    words = f"{told}: {values(metric, against, found)}{spread(metric, change, low, high)}; p {p:.2g} at every look"
    return Finding(
        variant=treatment,
        metric=metric.name,
        control=against,
        treat=found,
        change=change,
        low=low,
        high=high,
        p=p,
        sense=sense,
        requests=requests,
        words=f"{words}, {requests} requests",
    )


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


def values(metric: Metric, control: float | None, treat: float | None) -> str:
    return f"{value(metric, treat)} against {value(metric, control)}"


def value(metric: Metric, amount: float | None) -> str:
    """
    >>> value(Metric("error_rate", "error", "binary", "down"), 0.031), value(Metric("ttft", "ttft_ms", "mean", "down"), 812.4)
    ('3.1%', '812 ms')
    """
    if amount is None:
        return "nothing"
    unit = UNITS.get(metric.source, "")
    if unit == "$":
        return f"${amount / 1e6:.6f}"
    if metric.kind == "binary":
        return f"{amount:.3g}" if amount > 1 else f"{100 * amount:.3g}%"
    return f"{amount:.3g} ms" if unit and amount < 100 else f"{amount:.0f} ms" if unit else f"{amount:.4g}"


def spread(metric: Metric, change: float | None, low: float | None, high: float | None) -> str:
    """The change with its interval, as a person writes it."""
    if change is None:
        return ""
    unit = " pp" if metric.kind == "binary" else "" if metric.source == "score" else "%"
    times = 1.0 if metric.source == "score" else 100.0
    ends = "" if low is None or high is None else f" (between {times * low:+.3g} and {times * high:+.3g})"
    return f", {times * change:+.3g}{unit}{ends}"
