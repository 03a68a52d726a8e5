"""What is remembered of a request until it is over, and who hears of it.

Nothing here is a span: a request that is not kept costs its ids and instants, and no attribute of it is ever written.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import getrandbits

from opentelemetry.trace import SpanContext

from backends.messages import Usage
from gateway.request.hedging.hedged import HedgeResult
from gateway.request.settlement import Settlement
from gateway.telemetry.gather import Gathered
from gateway.telemetry.metrics.metrics import Metrics
from gateway.telemetry.shadows import LiveShadow, ShadowTrace
from gateway.telemetry.traces import attributes
from gateway.telemetry.traces.baggage import BAGGAGE, Baggage
from gateway.telemetry.traces.context import onward
from gateway.telemetry.traces.tracing import MOST_ATTEMPTS, NO_STATE, Tracing
from gateway.telemetry.words import Kept, Link
from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.experiments.plan import Assignment
from policies.facts import Facts

NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Sinks:
    """Who hears of requests. `log` None: nobody writes lines. `clock` tells seconds, of attempts."""

    tracing: Tracing
    baggage: Baggage
    metrics: Metrics
    log: Gathered | None
    clock: Callable[[], float]


class RequestSeen:
    """One request as it went; an `Observation`. Instants in nanoseconds of the wall clock. `parent` is the caller whose trace
    this is part of, `linked` one that is only linked to. `trace_id` is 32 hex digits, or "" when there is no trace; upstreams
    are told `onward_state` and whether it `is_taken`, and where traces are off, that the span `passed_on` asks. What is set in
    `settle` is not there before."""

    __slots__ = (
        "attempts", "decided_at", "ended_at", "is_taken", "judged", "kept", "linked", "method", "onward_state", "parent",
        "passed_on", "request_id", "route_path", "settlement", "sinks", "span_id", "started_at", "state", "trace_id",
        "trace_number",
    )  # fmt: skip

    def __init__(self, sinks: Sinks, request_id: str, method: str, route_path: str, caller: SpanContext | None) -> None:
        self.sinks, self.request_id, self.method, self.route_path = sinks, request_id, method, route_path
        tracing = sinks.tracing
        self.parent: SpanContext | None = caller if tracing.trusts else None
        self.linked: SpanContext | None = None if tracing.trusts else caller
        self.trace_number, self.onward_state, self.is_taken, self.passed_on = tracing.begun(self.parent)
        self.trace_id = f"{self.trace_number:032x}" if self.trace_number else ""
        self.started_at = time.time_ns()
        self.judged: tuple[Facts, Decision, Estimate | None, int | None] | None = None
        self.attempts: list[AttemptSeen] = []
        self.settlement: Settlement | None = None
        self.kept: Kept | None = None

    def decided(
        self, facts: Facts, decision: Decision, estimate: Estimate | None, decision_us: int | None = None
    ) -> None:
        """Deciding has just passed."""
        self.decided_at = time.time_ns()
        self.judged = facts, decision, estimate, decision_us
        said = None if estimate is None else "abstained" if estimate.abstains else "answered"
        self.sinks.metrics.decided(decision_us, said)

    def attempt(self, call: Call, number: int, predicted_tokens: int | None = None) -> "AttemptSeen":
        before = self.attempts[-1] if self.attempts else None
        attempt = AttemptSeen(self.sinks, call, number, predicted_tokens, before)
        self.attempts.append(attempt)
        if self.trace_id and not call.replica.startswith(attributes.IN_PROCESS):
            span_id = self.passed_on or attempt.span_id
            attempt.headers = onward(self.trace_id, span_id, self.onward_state, is_sampled=self.is_taken)
        if self.judged is not None and self.judged[1].assignments:
            attempt.headers = self._with_variants(attempt, self.judged[1].assignments)
        return attempt

    def settle(self, settlement: Settlement) -> None:
        """An attempt that nobody ended was given up with the request."""
        if self.settlement is not None:
            return
        sinks, self.settlement, ends = self.sinks, settlement, []
        for attempt in self.attempts:
            if attempt.ended is None:
                attempt.end("cancelled", None)
            ends.append(attempt.ended or "")
        self.ended_at = time.time_ns()
        if sinks.tracing.deliver is not None:
            taken, called = self.is_taken, self.parent is not None
            self.kept = sinks.tracing.sampling.why_kept(settlement, ends, taken=taken, called=called)
            if self.kept is not None:
                self._deliver(self.kept, sinks.tracing)
        sinks.metrics.settled(settlement, "" if self.kept is None else self.trace_id)
        if sinks.log is not None:
            sinks.log.add(settlement, self.trace_id, self.ended_at)

    def shadow(self, shadow: str, call: Call) -> LiveShadow:
        """A caller's trace is none of the shadow's: where traces are off it has none."""
        tracing = self.sinks.tracing
        dialect = tracing.dialects.get(call.model, "openai_chat")
        trace = None if tracing.deliver is None else ShadowTrace(self, tracing.deliver, shadow, call, dialect)
        return LiveShadow(shadow, trace, self.sinks.metrics, self.sinks.clock)

    @property
    def name(self) -> str:
        return f"{self.method} {self.route_path}"

    @property
    def given_up(self) -> "AttemptSeen | None":
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
        of_attempts = min(len(self.attempts), MOST_ATTEMPTS)
        return 1 + (self.judged is not None) + of_budgets + of_attempts + (self.given_up is not None)

    def _with_variants(self, attempt: "AttemptSeen", assignments: Sequence[Assignment]) -> Mapping[str, str]:
        told = self.sinks.baggage.toward(attempt.call.replica, assignments)
        return {**attempt.headers, BAGGAGE: told} if told else attempt.headers

    def _deliver(self, kept: Kept, tracing: Tracing) -> None:
        assert tracing.deliver is not None
        state = self.parent.trace_state if self.parent is not None else NO_STATE
        self.span_id, self.state = fresh_span_id(), tracing.sampling.state_of(kept, state)
        tracing.deliver(self)


class AttemptSeen:
    """One try, an `AttemptObservation`, with its link to the one before it, which is told when it is begun: what became of that
    one is known then. `headers` are for the upstream: the trace context, which an engine in this process does not need, and
    what it is told of variants."""

    __slots__ = (
        "_began_s", "_sinks", "before", "call", "dialect", "ended", "ended_at", "first_content_s", "headers", "link", "number",
        "predicted_tokens", "resends", "span_id", "started_at", "usage",
    )  # fmt: skip

    def __init__(
        self, sinks: Sinks, call: Call, number: int, predicted_tokens: int | None, before: "AttemptSeen | None"
    ) -> None:
        self._sinks, self.call, self.number, self.predicted_tokens = sinks, call, number, predicted_tokens
        self.headers = NO_HEADERS
        self.dialect = sinks.tracing.dialects.get(call.model, "openai_chat")
        self.before = before
        self.link: Link | None = _link(before, call) if before is not None else None
        self.resends: int = before.resends + 1 if before is not None and self.link == "retry" else 0
        self.span_id = getrandbits(64) or 1
        self.started_at = self.ended_at = time.time_ns()
        self._began_s = sinks.clock()
        self.first_content_s: float | None = None
        self.ended: str | None = None
        self.usage: Usage | None = None

    def first_content(self) -> None:
        self.first_content_s = self._sinks.clock() - self._began_s

    def end(self, error_kind: str, usage: Usage | None) -> None:
        """The first word counts."""
        if self.ended is not None:
            return
        self.ended, self.usage, self.ended_at = error_kind, usage, time.time_ns()
        sinks = self._sinks
        took_s = sinks.clock() - self._began_s
        sinks.metrics.attempted(self.call, took_s, error_kind, usage, self.predicted_tokens, self.first_content_s)

    @property
    def hedge_result(self) -> HedgeResult:
        """What became of it, where it is the second of a race."""
        if self.first_content_s is not None:
            return "won"
        return "failed" if self.failed else "cancelled"

    @property
    def failed(self) -> bool:
        return self.ended not in {None, "", "cancelled"}


def fresh_span_id() -> int:
    return getrandbits(64) or 1


def _link(before: AttemptSeen, call: Call) -> Link:
    """How an attempt refers to the one before it: the same model again, another model in its place, because that one failed or
    because its answer was given up, or beside it while it goes on; the same model beside it is a race."""
    if before.ended is None:
        return "hedge" if call.model == before.call.model else "beside"
    if call.model == before.call.model:
        return "retry"
    return "escalation" if before.ended in ("", "cancelled") else "fallback"
