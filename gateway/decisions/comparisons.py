"""The shadows of a log: which stand beside a decision, what each says of both answers, and with which chance it could."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from math import prod
from typing import NamedTuple

from gateway.decisions.record import DecisionRecord, Record, ShadowRecord
from gateway.decisions.worth import Key
from policies.experiments.enrol import with_canary
from policies.policy import Policy
from policies.shadows.agreed import right_if_other, right_if_same
from policies.shadows.plan import Shadow, of_rollout
from policies.shadows.sample import is_of, why_unfit

Comparisons = dict[Key, dict[str, ShadowRecord]]
"""By request, then by the shadow's name: a line that is there twice counts once."""


def set_aside(records: Iterable[Record], found: Comparisons) -> Iterator[Record]:
    """The same records; comparisons are gathered in passing."""
    for record in records:
        if isinstance(record, ShadowRecord):
            found.setdefault((record.tenant, record.request_id), {}).setdefault(record.shadow, record)
        yield record


class Chances(NamedTuple):
    """Of being right, 0 to 1, as it was estimated, of the model that answered and of the shadow's."""

    primary: float
    shadow: float


def said_of_both(told: ShadowRecord, before: Chances) -> tuple[float, float] | None:
    """The primary's quality and the shadow's, where nobody else tells of the primary; None where nothing is said.

    Agreement is heard only where a difference would be as well.
    """
    judged, one, other = told.differs.get("judge"), before.primary, before.shadow
    if judged in (100, -100):
        return (1.0, 0.0) if judged == 100 else (0.0, 1.0)
    if told.comes_to == "same":
        return (right_if_same(one, other),) * 2
    if told.comes_to == "other":
        return (one, 0.0) if is_misshapen(told) else (right_if_other(one, other), right_if_other(other, one))
    return ((one + other) / 2,) * 2 if judged == 0 else None


def said_of_shadow(told: ShadowRecord, worth: float, before: float) -> float | None:
    """The shadow's quality beside an answer of this worth; None where the two differ and that says nothing."""
    judged = told.differs.get("judge")
    if judged in (100, -100):
        return 0.0 if judged == 100 else 1.0
    if is_misshapen(told):
        return 0.0
    if is_the_same(told):
        return worth
    if told.comes_to == "other":
        return right_if_other(before, worth)
    return worth if judged == 0 else None


def is_the_same(told: ShadowRecord) -> bool:
    """The same choice, number, JSON or calls, or the same text."""
    if told.comes_to:
        return told.comes_to == "same"
    return told.differs.get("structure", told.differs.get("exact")) == 0


def is_misshapen(told: ShadowRecord) -> bool:
    return told.differs.get("misshapen", 0) == 100


def standing(record: DecisionRecord, beside: Iterable[ShadowRecord], policy: Policy) -> list[ShadowRecord]:
    """Those that compare this very answer with one of another model. `policy` is the file's own, without a variant."""
    answered = record.outcome.answered_by
    return [
        told
        for told in beside
        if answered is not None
        and told.primary == answered.model != told.model
        and not told.failed
        and 0 < told.probability <= 1
        and is_as_named(told, record, policy)
        and ("judge" in told.differs or not judged_share(policy, told.shadow, told.primary))
    ]


def is_as_named(told: ShadowRecord, record: DecisionRecord, policy: Policy) -> bool:
    """Whether what was asked is what the decision's policy has by that name: a rollout's change may be of the model itself."""
    assigned, asked_by = record.decision.assignments, policy
    for experiment in policy.experiments:
        plan = of_rollout(experiment)
        if plan is not None and plan.name == told.shadow:
            asked_by = policy.arm(with_canary(policy.experiments, assigned, experiment.name))
    model = policy.arm(assigned).models.get(told.model)
    return model is not None and asked_by.models.get(told.model) == model


def judged_share(policy: Policy, shadow: str, primary: str) -> float:
    """Of pairs of this shadow, those that a judge is shown; 0 where none is asked. Nobody judges its own answers."""
    judges = [plan.judge for plan in policy.shadows if plan.name == shadow and plan.judge is not None]
    return judges[0].of if judges and judges[0].model != primary else 0.0


def chance_of(
    record: DecisionRecord, heard: Sequence[ShadowRecord], policy: Policy, asked: Collection[str], *, unjudged: bool
) -> float:
    """With which the answer of any of the models `asked` came to be heard of: by every shadow that could have drawn this
    request for one of them, whether it did or not, where it has a judge that drew it as well, and without one where `unjudged`
    ones are heard. `heard` are those that did."""
    primary = heard[0].primary
    were = {told.shadow: told.probability for told in heard}
    drawn = {plan.name: plan.sample for plan in could_draw(policy, record, primary, asked)} | were
    told = {name: judged_share(policy, name, primary) or float(unjudged or name in were) for name in drawn}
    return 1 - prod(1 - drawn[name] * told[name] for name in drawn)


def could_draw(policy: Policy, record: DecisionRecord, primary: str, asked: Collection[str]) -> Iterator[Shadow]:
    """Of the file's shadows; a rollout's are known where they did."""
    for plan in policy.shadows:
        may = plan.to in asked and is_of(plan, record.decision.route, primary) and not plan.leaves_out(record.facts)
        if may and not why_unfit(policy.models[plan.to], record.facts):
            yield plan
