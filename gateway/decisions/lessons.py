"""What a log teaches a classifier: questions as numbers, and how well those did who answered them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from gateway.decisions.comparisons import Comparisons, set_aside
from gateway.decisions.record import DecisionRecord, Record
from gateway.decisions.replay import PolicyOf, decisions
from gateway.decisions.shadowed import MOST_WEIGHT, Question, question_of
from gateway.decisions.worth import Key, worths
from policies.policy import Policy

if TYPE_CHECKING:
    from classifiers.training.lessons import Lesson, Lessons


def lessons(records: Callable[[], Iterable[Record]], policy_of: PolicyOf, name: str) -> "Lessons":
    """Of every decision by difficulty that has an outcome, once also where its line is there twice, as in a folder with a copy
    of a log. The log is read twice. Needs the classifiers' libraries."""
    from classifiers.training.lessons import Lessons

    shadows: Comparisons = {}
    told = worths(set_aside(records(), shadows))
    drawn, heard = sum(map(len, shadows.values())), 0
    rows, numberless, without_policy = [], 0, 0
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    heads: dict[str, None] = {}
    seen: set[tuple[Key, float]] = set()
    for record in decisions(records()):
        if record.decision.line is None or is_again(record, seen):
            continue
        key, policy = (record.tenant, record.request_id), policy_at(policy_of, record)
        if policy is None:
            without_policy += 1
            drawn -= len(shadows.pop(key, {}))
            continue
        arm = policy.arm(record.decision.assignments)
        ladder = tuple(ladder_of(arm, record))
        heads.update(dict.fromkeys(ladder))
        question = question_of(record, policy, ladder, told.get(key), shadows.pop(key, {}).values())
        heard += question.heard
        if question.labels and record.numbers is None:
            numberless += 1
        elif question.labels:
            rows.append(lesson_of(record, question, arm))
            for label in question.labels:
                counts[arm.models[label.model].head][label.source] += 1
    return Lessons(
        name=name, heads=tuple(heads), rows=rows, counts=counts, numberless=numberless, most_weight=MOST_WEIGHT,
        unheard=drawn - heard, without_policy=without_policy,
    )  # fmt: skip


def is_again(record: DecisionRecord, seen: set[tuple[Key, float]]) -> bool:
    """Whether this very decision was seen before; it has been seen from now on."""
    line = ((record.tenant, record.request_id), record.at)
    if line in seen:
        return True
    seen.add(line)
    return False


def lesson_of(record: DecisionRecord, question: Question, policy: Policy) -> "Lesson":
    """Of a record with numbers; `policy` made the decision."""
    from classifiers.training.lessons import Lesson

    assert record.numbers is not None
    head, estimate = {name: model.head for name, model in policy.models.items()}, record.estimate
    return Lesson(
        numbers=record.numbers,
        quality={head[label.model]: label.quality for label in question.labels},
        p_good=estimate.p_good,
        weight=question.weight,
        weights={head[model]: weight for model, weight in question.weights.items()},
        stands=frozenset([head[model] for model in question.stands]),
        artefact=estimate.artefact,
        ends=None if estimate.earlier else estimate.ends,
    )


def policy_at(policy_of: PolicyOf, record: DecisionRecord) -> Policy | None:
    """The file's own, without variants."""
    try:
        return policy_of(record.decision.policy_hash)
    except (OSError, ValueError):
        return None


def ladder_of(policy: Policy, record: DecisionRecord) -> Iterator[str]:
    """The heads of the route that decided, lowest tier first."""
    for route in policy.routes:
        if route.name == record.decision.route and route.choose is not None:
            yield from (policy.models[model].head for model in route.choose.among)
