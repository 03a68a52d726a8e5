"""Deciding again: by the same policy, which must say the same; or by another one, to see what it would have done."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import msgspec

from gateway.decisions.evidence import Decided, Evidence, Verdict, first_of
from gateway.decisions.read import logs_in
from gateway.decisions.record import NOBODY, DecisionRecord, FeedbackRecord, Record
from gateway.decisions.shelf import FOLDER, path_of, policy_on
from policies.decide import decide
from policies.decision import Decision
from policies.escalate.verdict import verdict_on
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
    """Recorded decisions, or those of one policy, beside those of another. `flips` counts first choices that differ, as
    (before, after).

    Money in micro-dollars, and of the first choices alone: prompts as they were, answers as long as what was answered, nothing
    cached, by the prices that each policy states. `cost` (micro-dollars a decision) and `quality` (0 to 1, of what callers
    said) are what would have come of it, by the choices that were drawn.
    """

    compared: int
    flips: Mapping[tuple[str, str], int]
    before: Mapping[str, int]
    after: Mapping[str, int]
    before_microusd: float
    after_microusd: float
    cost: Verdict | None = None
    quality: Verdict | None = None
    cleaned: int = 0
    without_policy: int = 0

    @property
    def flipped(self) -> int:
        return sum(self.flips.values())


def policies_beside(log: Path) -> PolicyOf:
    """The policies that a log keeps, or the logs in a folder, each read once."""
    folders = logs_in(log) if log.is_dir() else [log.parent]
    return lru_cache(None)(lambda digest: policy_on(holder(folders, digest), digest))


def holder(folders: Sequence[Path], digest: str) -> Path:
    """The log that has this policy; the last one where none has it."""
    return next((folder for folder in folders if path_of(folder / FOLDER, digest).is_file()), folders[-1])


def decide_again(policy: Policy, record: DecisionRecord) -> Decision:
    """By `policy` with the line that was in force: `record.decision`, byte for byte, where it is the policy of that."""
    line = record.decision.line
    drawn = policy if line is None else policy.redrawn({record.decision.route: line})
    return decide(drawn, record.facts, record.estimate, record.snapshot)


@dataclass(slots=True)
class LeftOut:
    """Records that cannot be decided again: `cleaned` ones, and those whose policy is not at hand, by its hash."""

    cleaned: int = 0
    without_policy: Counter[str] = field(default_factory=Counter)


def replay(records: Iterable[Record], policy_of: PolicyOf) -> Replay:
    """Hold the log against its own policies."""
    replayed, left_out = 0, LeftOut()
    differ: list[str] = []
    for record, policy in replayable(records, policy_of, left_out):
        replayed += 1
        alike = msgspec.json.encode(decide_again(policy, record)) == msgspec.json.encode(record.decision)
        if not (alike and judges_alike(policy, record)):
            differ.append(record.request_id)
    return Replay(
        replayed=replayed, differ=tuple(differ), cleaned=left_out.cleaned, without_policy=left_out.without_policy
    )


def judges_alike(policy: Policy, record: DecisionRecord) -> bool:
    """Whether an answer that was held back has the same chance again, by the measures that the record has of it."""
    hold, outcome = record.decision.hold, record.outcome
    by = outcome.abandoned_by or outcome.answered_by
    if hold is None or by is None or outcome.measures is None:
        return True
    arm = policy.arm(record.decision.assignments)
    p_good = record.estimate.p_good.get(arm.models[by.model].head)
    found = verdict_on(arm.escalations[hold.escalation], by.model, outcome.measures, p_good, record.facts.task)
    return (found.p_correct, found.weighed_as) == (outcome.p_correct, outcome.weighed_as)


def compare(records: Iterable[Record], policy_of: PolicyOf, other: Policy, than: Policy | None = None) -> Comparison:
    """What `other` would have decided, beside what was decided, or what `than` would have; both with the lines that they were
    loaded with."""
    tally, left_out, evidence = Tally(), LeftOut(), Evidence()
    for record, own in replayable(heard(records, evidence.told), policy_of, left_out):
        done = Decided.by(own, record.decision)
        fresh, old = decided_by(other, record), done if than is None else decided_by(than, record)
        evidence.see(record, done, fresh, None if than is None else old)
        tally.see(record, old, fresh)
    return Comparison(
        compared=tally.before.total(),
        flips=tally.flips,
        before=tally.before,
        after=tally.after,
        before_microusd=tally.before_microusd,
        after_microusd=tally.after_microusd,
        cost=evidence.cost(),
        quality=evidence.quality(),
        cleaned=left_out.cleaned,
        without_policy=left_out.without_policy.total(),
    )


@dataclass(slots=True)
class Tally:
    """First choices by model, by the one and by the other, and what they come to."""

    flips: Counter[tuple[str, str]] = field(default_factory=Counter)
    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    before_microusd: float = 0.0
    after_microusd: float = 0.0

    def see(self, record: DecisionRecord, old: Decided, fresh: Decided) -> None:
        was, would_be = first_of(old.decision), first_of(fresh.decision)
        self.before[was] += 1
        self.after[would_be] += 1
        self.before_microusd += charged(old.policy, was, record)
        self.after_microusd += charged(fresh.policy, would_be, record)
        if was != would_be:
            self.flips[was, would_be] += 1


def replayable(
    records: Iterable[Record], policy_of: PolicyOf, left_out: LeftOut
) -> Iterator[tuple[DecisionRecord, Policy]]:
    """Decisions with the policy that made them; the others are counted in `left_out`."""
    for record in decisions(records):
        if record.cleaned:
            left_out.cleaned += 1
            continue
        try:
            policy = policy_of(record.decision.policy_hash)
        except (OSError, ValueError):
            left_out.without_policy[record.decision.policy_hash] += 1
            continue
        yield record, policy


def decisions(records: Iterable[Record]) -> Iterable[DecisionRecord]:
    return (record for record in records if isinstance(record, DecisionRecord))


def heard(records: Iterable[Record], told: list[FeedbackRecord]) -> Iterator[Record]:
    """The same records; what callers said is gathered in passing."""
    for record in records:
        if isinstance(record, FeedbackRecord):
            told.append(record)
        yield record


def decided_by(policy: Policy, record: DecisionRecord) -> Decided:
    return Decided.by(policy, decide(policy, record.facts, record.estimate, record.snapshot))


def charged(policy: Policy, model: str, record: DecisionRecord) -> float:
    """Micro-dollars for this request at this model, its answer as long as the one that was given."""
    if model == NOBODY:
        return 0.0
    usage = record.outcome.usage
    answer = expected_output(record.facts.max_tokens) if usage is None else usage.completion_tokens
    return charge(policy.models[model].price, record.facts.tokens_for(model), answer)
