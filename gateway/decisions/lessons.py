"""What a log teaches a classifier: questions as numbers, and how well those did who answered them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from gateway.decisions.record import DecisionRecord, Record
from gateway.decisions.replay import PolicyOf, decisions
from gateway.decisions.worth import worths
from policies.policy import Policy

if TYPE_CHECKING:
    from classifiers.training.lessons import Lessons

MOST_WEIGHT = 50.0
"""Of one question: a choice that was made with less than one chance in 50 weighs no more than that."""

Source = Literal["feedback", "judgement"]
"""feedback   what callers said of the answer that they got
judgement  the chance of being right that an escalation's signals gave an answer, kept or given up
"""


class Label(NamedTuple):
    """How well a model answered, 0 to 1."""

    model: str
    quality: float
    source: Source


def lessons(records: Callable[[], Iterable[Record]], policy_of: PolicyOf, name: str) -> "Lessons":
    """Of every decision by difficulty that has an outcome; the log is read twice. Needs the classifiers' libraries."""
    from classifiers.training.lessons import Lesson, Lessons

    told, rows, numberless = worths(records()), [], 0
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    heads: dict[str, None] = {}
    for record in decisions(records()):
        policy = policy_at(policy_of, record)
        if policy is None or record.decision.line is None:
            continue
        heads.update(dict.fromkeys(ladder(policy, record)))
        labels = list(labels_of(record, told.get((record.tenant, record.request_id))))
        if labels and record.numbers is None:
            numberless += 1
        elif labels and record.numbers is not None:
            quality = {policy.models[label.model].head: label.quality for label in labels}
            for label in labels:
                counts[policy.models[label.model].head][label.source] += 1
            weight = min(1 / record.probability, MOST_WEIGHT)
            told_then = record.estimate
            rows.append(
                Lesson(
                    numbers=record.numbers, quality=quality, p_good=told_then.p_good, weight=weight,
                    artefact=told_then.artefact, ends=None if told_then.earlier else told_then.ends,
                )
            )  # fmt: skip
    return Lessons(
        name=name, heads=tuple(heads), rows=rows, counts=counts, numberless=numberless, most_weight=MOST_WEIGHT
    )


def policy_at(policy_of: PolicyOf, record: DecisionRecord) -> Policy | None:
    try:
        return policy_of(record.decision.policy_hash).arm(record.decision.assignments)
    except (OSError, ValueError):
        return None


def ladder(policy: Policy, record: DecisionRecord) -> Iterator[str]:
    """The heads of the route that decided, lowest tier first."""
    for route in policy.routes:
        if route.name == record.decision.route and route.choose is not None:
            yield from (policy.models[model].head for model in route.choose.among)


def labels_of(record: DecisionRecord, worth: float | None) -> Iterator[Label]:
    """What callers said goes before what signals said."""
    outcome = record.outcome
    if outcome.answered_by is not None:
        if worth is not None:
            yield Label(outcome.answered_by.model, worth, "feedback")
        elif outcome.p_correct is not None and outcome.judgement != "escalated":
            yield Label(outcome.answered_by.model, outcome.p_correct, "judgement")
    if outcome.abandoned_by is not None and outcome.p_correct is not None:
        yield Label(outcome.abandoned_by.model, outcome.p_correct, "judgement")
