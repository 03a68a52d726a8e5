"""What the evidence comes to, in words with its numbers."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from policies.experiments.breaches import Breach, breaches_of
from policies.experiments.evidence import Evidence, log_e_at_rest
from policies.experiments.mixture import anytime_p
from policies.experiments.plan import Experiment
from policies.experiments.shown import changed, shown
from policies.experiments.spelling import spread, values
from policies.experiments.trial import Trial, alpha_of, key, metrics_of

Sense = Literal["better", "worse", "undecided"]
Outcome = Literal["running", "winner", "control", "breach", "sample_ratio", "over"]


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
