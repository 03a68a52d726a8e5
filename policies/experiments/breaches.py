"""Guardrails that are broken: by who had the change, or by pairs before anybody had it."""

import math
from collections.abc import Iterator

import msgspec

from policies.experiments import paired
from policies.experiments.mixture import anytime_p
from policies.experiments.plan import Act, Experiment, Guardrail
from policies.experiments.shown import so_far
from policies.experiments.spelling import values
from policies.experiments.trial import Trial, key, rails


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
