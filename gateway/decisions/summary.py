"""What a log comes to, at a glance: per model, per ending, and what callers said."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

import msgspec

from gateway.decisions.record import NOBODY, DecisionRecord, FeedbackRecord, Record, SignalRecord
from gateway.decisions.worth import last_words
from policies.decision import Reject


class Of(msgspec.Struct, frozen=True, kw_only=True):
    """Of the requests that one model answered; money of all calls that were made for them."""

    requests: int
    microusd: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    good: int
    bad: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """`stray` counts feedback for which no decision of the same tenant is in the log. Times in seconds since the epoch."""

    decisions: int
    since: float | None
    until: float | None
    by_model: Mapping[str, Of]
    by_end: Mapping[str, int]
    rejected: int
    escalated: int
    feedback: int
    stray: int
    signals: Mapping[str, int]
    policies: Mapping[str, int]


@dataclass(slots=True)
class Sum:
    """One model's, while it is added up."""

    requests: int = 0
    microusd: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    good: int = 0
    bad: int = 0

    def add(self, record: DecisionRecord) -> None:
        usage = record.outcome.usage
        self.requests += 1
        self.microusd += record.outcome.microusd
        if usage is not None:
            self.prompt_tokens += usage.prompt_tokens
            self.cached_tokens += usage.cached_tokens
            self.completion_tokens += usage.completion_tokens

    def rate(self, told: FeedbackRecord) -> None:
        self.good += told.rating == "good"
        self.bad += told.rating == "bad"


@dataclass(slots=True)
class Tally:
    """Everything, while it is added up. A request is known by its tenant and its id."""

    sums: dict[str, Sum] = field(default_factory=dict)
    ends: Counter[str] = field(default_factory=Counter)
    policies: Counter[str] = field(default_factory=Counter)
    answered_by: dict[tuple[str, str], str] = field(default_factory=dict)
    told: list[FeedbackRecord] = field(default_factory=list)
    signals: Counter[str] = field(default_factory=Counter)
    since: float = math.inf
    until: float = -math.inf
    rejected: int = 0
    escalated: int = 0

    def see(self, record: DecisionRecord) -> None:
        outcome = record.outcome
        model = outcome.answered_by.model if outcome.answered_by else NOBODY
        self.sums.setdefault(model, Sum()).add(record)
        self.ends[outcome.end] += 1
        self.policies[record.decision.policy_hash] += 1
        self.answered_by[record.tenant, record.request_id] = model
        self.rejected += isinstance(record.decision.choice, Reject)
        self.escalated += outcome.escalated
        self.since, self.until = min(self.since, record.at), max(self.until, record.at)


def summary(records: Iterable[Record]) -> Summary:
    """One pass; a request's id and model stay in memory, so that feedback finds it."""
    tally = Tally()
    for record in records:
        if isinstance(record, DecisionRecord):
            tally.see(record)
        elif isinstance(record, FeedbackRecord):
            tally.told.append(record)
        elif isinstance(record, SignalRecord):
            tally.signals[record.signal] += 1
    stray = join(tally)
    return Summary(
        decisions=tally.ends.total(),
        since=tally.since if tally.ends else None,
        until=tally.until if tally.ends else None,
        by_model={model: Of(**asdict(total)) for model, total in tally.sums.items()},
        by_end=tally.ends,
        rejected=tally.rejected,
        escalated=tally.escalated,
        feedback=len(tally.told),
        stray=stray,
        signals=tally.signals,
        policies=tally.policies,
    )


def join(tally: Tally) -> int:
    """Give the last word on every request to who answered it, whichever came first; how many words are of none."""
    for key, told in last_words(tally.told).items():
        if key in tally.answered_by:
            tally.sums[tally.answered_by[key]].rate(told)
    return sum((told.tenant, told.request_id) not in tally.answered_by for told in tally.told)
