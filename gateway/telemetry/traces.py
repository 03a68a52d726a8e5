"""What is remembered of a request for its trace, and when it is over whether it is kept.

Nothing here is a span yet: a request that is not kept costs its ids and instants, and no attribute of it is ever written.
"""

import random
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from opentelemetry.trace import SpanContext, TraceState

from backends.messages import Usage
from gateway.request.hedged import HedgeResult
from gateway.request.settlement import Settlement
from gateway.telemetry import attributes, context
from gateway.telemetry.names import Kept, Link
from gateway.telemetry.passed import PassedOn
from gateway.telemetry.sampling import Sampling
from gateway.telemetry.shadows import ShadowTrace
from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.facts import Facts

MOST_ATTEMPTS = 32
"""Attempts of one request that get a span; `router.attempts` counts all."""

NO_STATE = TraceState()


def fresh_span_id() -> int:
    return random.getrandbits(64) or 1


class AttemptSeen(Protocol):
    def headers(self) -> dict[str, str]: ...
    def first_content(self, after_s: float) -> None: ...
    def end(self, error_kind: str, usage: Usage | None) -> None: ...


class Trace(Protocol):
    @property
    def trace_id(self) -> str:
        """32 hex digits, or "" when there is no trace."""
        ...

    def decided(self, facts: Facts, decision: Decision, estimate: Estimate | None, decision_us: int | None) -> None: ...

    def attempt(self, call: Call, number: int, predicted_tokens: int | None) -> AttemptSeen: ...

    def settle(self, settlement: Settlement) -> bool:
        """Whether it is kept."""
        ...

    def shadow(self, shadow: str, call: Call) -> ShadowTrace | None:
        """A trace of its own for a call that asks the same, once this one is settled; None when traces are off."""
        ...


class Tracing:
    """Begins traces. `trusts`: a caller's trace is continued, and it says whether that one is kept; else it is linked to.
    `dialects` are those of the models' servers, by model. What is kept goes to `deliver`, None where traces are off."""

    def __init__(
        self, deliver: "Callable[[RequestTrace | ShadowTrace], None] | None", sampling: Sampling, *, trusts: bool
    ) -> None:
        self.deliver = deliver
        self.sampling = sampling
        self.dialects: Mapping[str, str] = {}
        self._trusts = trusts

    def begin(self, headers: Mapping[str, str], method: str, route_path: str, request_id: str) -> Trace:
        caller = context.caller_of(headers)
        if self.deliver is None:
            return PassedOn(caller if self._trusts else None)
        parent, linked = (caller, None) if self._trusts else (None, caller)
        return RequestTrace(self, self.deliver, f"{method} {route_path}", request_id, parent=parent, linked=linked)


class RequestTrace:
    """One request as it went. Instants in nanoseconds of the wall clock. `parent` is the caller whose trace this is part of,
    `linked` one that is only linked to."""

    __slots__ = (
        "_deliver", "_id", "_state", "_tracing", "attempts", "decided_at", "ended_at", "judged", "kept", "linked",
        "name", "parent", "request_id", "settlement", "span_id", "started_at", "state", "taken",
    )  # fmt: skip

    def __init__(
        self,
        tracing: Tracing,
        deliver: "Callable[[RequestTrace | ShadowTrace], None]",
        name: str,
        request_id: str,
        *,
        parent: SpanContext | None,
        linked: SpanContext | None,
    ) -> None:
        self._tracing = tracing
        self._deliver = deliver
        self.name = name
        self.request_id = request_id
        self.parent = parent
        self.linked = linked
        self._id = self.parent.trace_id if self.parent is not None else random.getrandbits(128) or 1
        self.span_id = fresh_span_id()
        self.taken = tracing.sampling.takes(self._id, self.parent)
        self._state = self._told()
        self.started_at = time.time_ns()
        self.ended_at = self.started_at
        self.decided_at = self.started_at
        self.judged: tuple[Facts, Decision, Estimate | None, int | None] | None = None
        self.attempts: list[AttemptTrace] = []
        self.settlement: Settlement | None = None
        self.kept: Kept | None = None
        self.state = NO_STATE

    @property
    def trace_number(self) -> int:
        return self._id

    @property
    def trace_id(self) -> str:
        return f"{self._id:032x}"

    def decided(self, facts: Facts, decision: Decision, estimate: Estimate | None, decision_us: int | None) -> None:
        """Deciding has just passed."""
        self.decided_at = time.time_ns()
        self.judged = facts, decision, estimate, decision_us

    def attempt(self, call: Call, number: int, predicted_tokens: int | None) -> "AttemptTrace":
        before = self.attempts[-1] if self.attempts else None
        dialect = self._tracing.dialects.get(call.model, "openai_chat")
        attempt = AttemptTrace((self._id, self._state, self.taken), call, number, predicted_tokens, before, dialect)
        if len(self.attempts) < MOST_ATTEMPTS:
            self.attempts.append(attempt)
        return attempt

    def settle(self, settlement: Settlement) -> bool:
        self.ended_at, self.settlement = time.time_ns(), settlement
        sampling = self._tracing.sampling
        ends = [attempt.ended or "" for attempt in self.attempts]
        self.kept = sampling.why_kept(settlement, ends, taken=self.taken, called=self.parent is not None)
        if self.kept is None:
            return False
        self.state = sampling.state_of(self.kept, self.parent.trace_state if self.parent is not None else NO_STATE)
        self._deliver(self)
        return True

    def shadow(self, shadow: str, call: Call) -> ShadowTrace:
        return ShadowTrace(self, shadow, call, self._tracing.dialects.get(call.model, "openai_chat"))

    def deliver_beside(self, trace: ShadowTrace) -> None:
        self._deliver(trace)

    @property
    def given_up(self) -> "AttemptTrace | None":
        """The attempt whose answer was given up for a larger model's."""
        settlement = self.settlement
        if settlement is None or settlement.judgement not in {"escalated", "turned_back"}:
            return None
        call = settlement.abandoned_by or settlement.answered_by
        return next((attempt for attempt in self.attempts if attempt.call == call and not attempt.failed), None)

    @property
    def spans(self) -> int:
        """How many there will be."""
        told = self.settlement.budgeted if self.settlement is not None else None
        of_budgets = 0 if told is None else 1 + (told.settled_at > 0)
        return 1 + (self.judged is not None) + of_budgets + len(self.attempts) + (self.given_up is not None)

    def _told(self) -> str:
        """The tracestate for upstreams."""
        if self.parent is not None:
            return self.parent.trace_state.to_header()
        return f"ot=th:{self._tracing.sampling.written}" if self.taken else ""


class AttemptTrace:
    """One try, with its link to the one before it, which is told when it is begun: what became of that one is known then."""

    __slots__ = (
        "_within", "before", "call", "dialect", "ended", "ended_at", "first_content_s", "link", "number",
        "predicted_tokens", "resends", "span_id", "started_at", "usage",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917  one attempt
        self,
        within: tuple[int, str, bool],
        call: Call,
        number: int,
        predicted_tokens: int | None,
        before: "AttemptTrace | None",
        dialect: str,
    ) -> None:
        self._within = within
        self.call = call
        self.number = number
        self.predicted_tokens = predicted_tokens
        self.dialect = dialect
        self.before = before
        self.link: Link | None = _link(before, call) if before is not None else None
        self.resends: int = before.resends + 1 if before is not None and self.link == "retry" else 0
        self.span_id = fresh_span_id()
        self.started_at = self.ended_at = time.time_ns()
        self.first_content_s: float | None = None
        self.ended: str | None = None
        self.usage: Usage | None = None

    @property
    def hedge_result(self) -> HedgeResult:
        """What became of it, where it is the second of a race."""
        if self.first_content_s is not None:
            return "won"
        return "failed" if self.failed else "cancelled"

    @property
    def failed(self) -> bool:
        return self.ended not in {None, "", "cancelled"}

    def headers(self) -> dict[str, str]:
        """The trace context for the upstream; an engine in this process needs none."""
        if attributes.is_local(self.call):
            return {}
        trace_number, state, is_sampled = self._within
        return context.told(trace_number, self.span_id, state, sampled=is_sampled)

    def first_content(self, after_s: float) -> None:
        self.first_content_s = after_s

    def end(self, error_kind: str, usage: Usage | None) -> None:
        self.ended, self.usage, self.ended_at = error_kind, usage, time.time_ns()


def _link(before: AttemptTrace, call: Call) -> Link:
    """How an attempt refers to the one before it: the same model again, another model in its place, because that one failed or
    because its answer was given up, or beside it while it goes on; the same model beside it is a race."""
    if before.ended is None:
        return "hedge" if call.model == before.call.model else "beside"
    if call.model == before.call.model:
        return "retry"
    return "escalation" if before.ended in ("", "cancelled") else "fallback"
