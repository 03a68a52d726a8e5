"""Deciding again: by the same policy, which must say the same; or by another one, to see what it would have done."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from gateway.decisions.record import NOBODY, DecisionRecord, Record
from gateway.decisions.shelf import policy_on
from policies.decide import decide
from policies.decision import Call, Decision
from policies.policy import Policy
from policies.terms.cost import charge, expected_output

PolicyOf = Callable[[str], Policy]
"""Hash -> policy. Raises OSError or ValueError where it is not at hand."""


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What came of deciding again. `differ` are the ids of requests for which the same policy said something else, which is
    a fault. `cleaned`: left out, for something of their facts was hidden. `without_policy` likewise, by hash."""

    replayed: int
    differ: tuple[str, ...] = ()
    cleaned: int = 0
    without_policy: Mapping[str, int] = {}


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Recorded decisions beside those of another policy. `flips` counts first choices that differ, as (before, after).

    Money in micro-dollars, and of the first choices alone: prompts as they were, answers as long as what was answered, nothing
    cached, by the prices that each policy states.
    """

    compared: int
    flips: Mapping[tuple[str, str], int]
    before: Mapping[str, int]
    after: Mapping[str, int]
    before_microusd: float
    after_microusd: float
    cleaned: int = 0
    without_policy: int = 0

    @property
    def flipped(self) -> int:
        return sum(self.flips.values())


def policies_beside(log: Path) -> PolicyOf:
    """The policies that a log keeps, each read once."""
    folder = log if log.is_dir() else log.parent
    return lru_cache(None)(lambda digest: policy_on(folder, digest))


def decide_again(policy: Policy, record: DecisionRecord) -> Decision:
    """By `policy` with the line that was in force: `record.decision`, byte for byte, where it is the policy of that."""
    line = record.decision.line
    drawn = policy if line is None else policy.redrawn({record.decision.route: line})
    return decide(drawn, record.facts, record.estimate, record.snapshot)


def replay(records: Iterable[Record], policy_of: PolicyOf) -> Replay:
    """Hold the log against its own policies."""
    replayed, hidden = 0, 0
    differ: list[str] = []
    lacking: Counter[str] = Counter()
    for record in decisions(records):
        if record.cleaned:
            hidden += 1
            continue
        try:
            policy = policy_of(record.decision.policy_hash)
        except (OSError, ValueError):
            lacking[record.decision.policy_hash] += 1
            continue
        replayed += 1
        if msgspec.json.encode(decide_again(policy, record)) != msgspec.json.encode(record.decision):
            differ.append(record.request_id)
    return Replay(replayed=replayed, differ=tuple(differ), cleaned=hidden, without_policy=lacking)


def compare(records: Iterable[Record], policy_of: PolicyOf, other: Policy) -> Comparison:
    """What `other`, with the lines that it was loaded with, would have decided."""
    flips: Counter[tuple[str, str]] = Counter()
    before: Counter[str] = Counter()
    after: Counter[str] = Counter()
    was = would_be = 0.0
    hidden = lacking = 0
    for record in decisions(records):
        if record.cleaned:
            hidden += 1
            continue
        try:
            own = policy_of(record.decision.policy_hash)
        except (OSError, ValueError):
            lacking += 1
            continue
        fresh = decide(other, record.facts, record.estimate, record.snapshot)
        old_model, new_model = first_of(record.decision), first_of(fresh)
        before[old_model] += 1
        after[new_model] += 1
        was += charged(own, old_model, record)
        would_be += charged(other, new_model, record)
        if old_model != new_model:
            flips[old_model, new_model] += 1
    return Comparison(
        compared=before.total(),
        flips=flips,
        before=before,
        after=after,
        before_microusd=was,
        after_microusd=would_be,
        cleaned=hidden,
        without_policy=lacking,
    )


def decisions(records: Iterable[Record]) -> Iterable[DecisionRecord]:
    return (record for record in records if isinstance(record, DecisionRecord))


def first_of(decision: Decision) -> str:
    return decision.choice.model if isinstance(decision.choice, Call) else NOBODY


def charged(policy: Policy, model: str, record: DecisionRecord) -> float:
    """Micro-dollars for this request at this model, its answer as long as the one that was given."""
    if model == NOBODY:
        return 0.0
    usage = record.outcome.usage
    answer = expected_output(record.facts.max_tokens) if usage is None else usage.completion_tokens
    return charge(policy.models[model].price, record.facts.tokens_for(model), answer)
