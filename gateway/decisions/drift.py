"""Do estimates still mean what they say? How they lie from day to day, and what callers said of answers by their chance.

Feedback comes from whom it pleased to give some, of answers that were chosen: it tells of a drift, and is no fair sample.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from gateway.decisions.record import DecisionRecord, Record
from gateway.decisions.replay import PolicyOf, decisions
from gateway.decisions.worth import worths

BUCKETS = 5
"""Of chances, equally wide."""

QUANTILES = (0.1, 0.5, 0.9)


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """The estimates of one day (UTC): for each head its quantiles of P(good) at 10, 50 and 90 %."""

    day: str
    estimated: int
    abstained: int
    p_good: Mapping[str, tuple[float, ...]]


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """Answers of a model whose chance was from `low` on: the mean of their chances, and of what was said of them (0 to 1)."""

    model: str
    low: float
    answers: int
    p_good: float
    worth: float


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """`error` is the expected calibration error of each model: the mean gap between chance and worth, by answers."""

    days: Sequence[Day]
    buckets: Sequence[Bucket]
    error: Mapping[str, float]


def drift(records: Iterable[Record], policy_of: PolicyOf) -> Drift:
    """A model whose policy is not beside the log has no known head, so its answers are in no bucket."""
    kept = list(records)
    told = worths(kept)
    by_day: dict[str, list[DecisionRecord]] = defaultdict(list)
    judged: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for record in decisions(kept):
        by_day[day_of(record.at)].append(record)
        worth = told.get((record.tenant, record.request_id))
        chance = None if worth is None else chance_of(record, policy_of)
        if worth is not None and chance is not None:
            model, p = chance
            judged[model, min(int(p * BUCKETS), BUCKETS - 1)].append((p, worth))
    buckets = [bucket(model, place, judged[model, place]) for model, place in sorted(judged)]
    return Drift(days=[of_day(day, by_day[day]) for day in sorted(by_day)], buckets=buckets, error=errors(buckets))


def chance_of(record: DecisionRecord, policy_of: PolicyOf) -> tuple[str, float] | None:
    """Who answered, and the chance that it had."""
    answered_by = record.outcome.answered_by
    if answered_by is None or not record.estimate.p_good:
        return None
    try:
        policy = policy_of(record.decision.policy_hash).arm(record.decision.assignments)
        head = policy.models[answered_by.model].head
    except (OSError, ValueError):
        return None
    p = record.estimate.p_good.get(head)
    return None if p is None else (answered_by.model, p)


def bucket(model: str, place: int, seen: Sequence[tuple[float, float]]) -> Bucket:
    chances, worth = zip(*seen, strict=True)
    return Bucket(
        model=model,
        low=place / BUCKETS,
        answers=len(seen),
        p_good=sum(chances) / len(seen),
        worth=sum(worth) / len(seen),
    )


def errors(buckets: Iterable[Bucket]) -> Mapping[str, float]:
    gaps: dict[str, float] = defaultdict(float)
    answers: Counter[str] = Counter()
    for one in buckets:
        answers[one.model] += one.answers
        gaps[one.model] += one.answers * abs(one.p_good - one.worth)
    return {model: gaps[model] / count for model, count in answers.items()}


def of_day(day: str, records: Sequence[DecisionRecord]) -> Day:
    chances: dict[str, list[float]] = defaultdict(list)
    for record in records:
        for head, p in record.estimate.p_good.items():
            chances[head].append(p)
    estimated = sum(bool(record.estimate.p_good) for record in records)
    lie = {head: tuple([quantile(sorted(found), q) for q in QUANTILES]) for head, found in chances.items()}
    return Day(day=day, estimated=estimated, abstained=len(records) - estimated, p_good=lie)


def quantile(ascending: Sequence[float], q: float) -> float:
    """The nearest value that has at least this share at or below it.

    >>> [quantile([1.0, 2.0, 3.0, 4.0], q) for q in (0.0, 0.5, 0.51, 1.0)]
    [1.0, 2.0, 3.0, 4.0]
    """
    return ascending[max(0, -int(-q * len(ascending) // 1) - 1)]


def day_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
