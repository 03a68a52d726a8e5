"""The lines of the log: a decision with its outcome, a word of feedback, a signal, a comparison. Counts, names
and reasons; never a text."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Literal

import msgspec

from backends.messages import Usage
from classifiers.features.numbers import Numbers
from gateway.budgets.told import Budgeted
from gateway.request.hedging.hedged import Hedged
from gateway.request.settlement import End, Judgement, Settlement
from policies.decision import Call, Decision
from policies.escalate.task import Task
from policies.estimates import Estimate
from policies.facts import Facts
from policies.shadows.closing import ComesTo
from policies.snapshot import Snapshot

SCHEMA = 1
"""Raised when a field changes its meaning or goes. A new field with a default leaves it alone."""


NOBODY = "nobody"
"""In counts by model: the requests that none answered."""

Rating = Literal["good", "bad"]

Signal = Literal["regenerated", "retried", "abandoned", "misshapen"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a request came to, in the words of `Settlement`. `usage` is of the answer that was sent; `microusd` of all calls."""

    status: int
    end: End
    attempts: int
    duration_ms: float
    dialect: str = ""
    reason: str = ""
    ttft_ms: float | None = None
    answered_by: Call | None = None
    usage: Usage | None = None
    microusd: int = 0
    error_code: str = ""
    judgement: Judgement = ""
    p_correct: float | None = None
    weighed_as: Task = ""
    measures: Mapping[str, float] | None = None
    abandoned_by: Call | None = None
    abandoned: Usage | None = None
    abandoned_microusd: int = 0
    beside: Call | None = None
    beside_usage: Usage | None = None
    beside_microusd: int = 0
    budgeted: Budgeted | None = None
    hedged: Hedged | None = None
    unretried: bool = False

    @property
    def escalated(self) -> bool:
        return self.judgement == "escalated"


class DecisionRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="decision"):
    """Everything that decide() read, what it said, and what came of it.

    `at` in seconds since the epoch. `probability` is that with which this choice was made among all that could have been: 1
    where nothing is drawn; `decision.propensity` has the others'. `cleaned`: something that looked like a credential was
    taken out of the texts, so the decision cannot be made again from them. `numbers` is what heads read of the newest turn,
    where that is kept.
    """

    schema: int = SCHEMA
    at: float
    request_id: str
    tenant: str
    facts: Facts
    estimate: Estimate
    snapshot: Snapshot
    snapshot_digest: str
    decision: Decision
    probability: float = 1.0
    cleaned: bool = False
    numbers: Numbers | None = None
    outcome: Outcome


class FeedbackRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="feedback"):
    """What a caller says of an earlier answer. It counts where a decision of the same tenant has this `request_id`.

    Of a comment and of a correction only the lengths are kept.
    """

    schema: int = SCHEMA
    at: float
    request_id: str
    tenant: str
    rating: Rating | None = None
    score: float | None = None
    corrected: bool | None = None
    comment_chars: int = 0
    correction_chars: int = 0


class SignalRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="signal"):
    """What a caller's doing says of the answer to `request_id`, by the definition of this `version`; `by` is the request that
    showed it, `after_s` how long after the end of the first."""

    schema: int = SCHEMA
    at: float
    request_id: str
    tenant: str
    signal: Signal
    version: int
    by: str
    after_s: float | None = None


class ShadowRecord(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="shadow"):
    """What asking `model` the same as `request_id` came to, which `primary` had answered on `route`. It was drawn with
    `probability`.

    `failed` is the kind of its failure, or "". `differs` are its differences from that answer by rung, in percent, `floor`
    those of a second answer of the primary, empty where it was not asked twice. `comes_to` is whether both come to the same
    choice, number or plain JSON. `microusd` is of all calls for comparison.
    """

    schema: int = SCHEMA
    at: float
    request_id: str
    tenant: str
    shadow: str
    route: str
    policy_hash: str
    primary: str
    model: str
    probability: float
    failed: str = ""
    usage: Usage | None = None
    microusd: int = 0
    took_ms: float = 0.0
    trace_id: str = ""
    differs: Mapping[str, int] = {}
    floor: Mapping[str, int] = {}
    comes_to: ComesTo = ""


Record = DecisionRecord | FeedbackRecord | SignalRecord | ShadowRecord


def digest_of(snapshot: Snapshot) -> str:
    """32 hex digits that stand for one state of the world, its instant and its draw included."""
    return blake2b(msgspec.json.encode(snapshot), digest_size=16).hexdigest()


def recorded(
    facts: Facts,
    estimate: Estimate,
    snapshot: Snapshot,
    decision: Decision,
    settlement: Settlement,
    *,
    numbers: Numbers | None = None,
) -> DecisionRecord:
    return DecisionRecord(
        at=snapshot.now,
        request_id=settlement.request_id,
        tenant=settlement.tenant,
        facts=facts,
        estimate=estimate,
        snapshot=snapshot,
        snapshot_digest=digest_of(snapshot),
        decision=decision,
        probability=decision.probability,
        numbers=numbers,
        outcome=outcome_of(settlement),
    )


def outcome_of(settlement: Settlement) -> Outcome:
    """The fields that both have; what the decision says already is left out."""
    return msgspec.convert(settlement, Outcome, from_attributes=True)
