"""The span tree of one request. Spans are never made current, so a stream closed by another task ends them cleanly.

With a tracer that records nothing, the client's own trace context passes through to the upstreams unchanged.
"""

import time
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, Tracer, format_trace_id, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from backends.messages import Usage
from gateway.request.settlement import Settlement
from gateway.telemetry import attributes, names
from gateway.telemetry.outcome import outcome
from gateway.telemetry.redact import Redactor
from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.facts import Facts

_W3C = TraceContextTextMapPropagator()


class Tracing:
    """Starts request spans. `headers` are looked up in lower case."""

    def __init__(self, tracer: Tracer, redactor: Redactor) -> None:
        self._tracer = tracer
        self._redactor = redactor

    def begin(self, headers: Mapping[str, str], method: str, route_path: str, request_id: str) -> "RequestTrace":
        parent = _W3C.extract(headers, context=Context())
        span = self._tracer.start_span(
            f"{method} {route_path}",
            context=parent,
            kind=SpanKind.SERVER,
            attributes={names.HTTP_METHOD: method, names.HTTP_ROUTE: route_path, names.REQUEST_ID: request_id},
        )
        return RequestTrace(self._tracer, self._redactor, span, names.OPERATIONS.get(route_path, names.CHAT))


class RequestTrace:
    def __init__(self, tracer: Tracer, redactor: Redactor, span: Span, operation: str) -> None:
        self._tracer = tracer
        self._redactor = redactor
        self._span = span
        self._within = set_span_in_context(span, Context())
        self._latest: AttemptTrace | None = None
        self._stream = False
        self._operation = operation

    @property
    def trace_id(self) -> str:
        """32 hex digits, or "" when there is no trace."""
        context = self._span.get_span_context()
        return format_trace_id(context.trace_id) if context.is_valid else ""

    def decided(self, facts: Facts, decision: Decision, estimate: Estimate | None, decision_us: int | None) -> None:
        """One span over the time that deciding took, which has just passed."""
        self._stream = facts.stream
        if not self._span.is_recording():
            return
        end = time.time_ns()
        span = self._tracer.start_span(
            names.ROUTE_SPAN,
            context=self._within,
            attributes=attributes.decided(facts, decision, estimate, decision_us, self._redactor),
            start_time=end - (decision_us or 0) * 1_000,
        )
        for found in decision.assignments:
            span.add_event(names.FLAG_EVALUATION, attributes.assigned(found))
        span.end(end)

    def attempt(self, call: Call, number: int, predicted_tokens: int | None) -> "AttemptTrace":
        kind, where = _at(call.replica)
        span = self._tracer.start_span(
            f"{self._operation} {call.model}",
            context=self._within,
            kind=kind,
            attributes=self._asked(call, number, predicted_tokens) | where if self._span.is_recording() else None,
            links=[self._latest.link_from(call)] if self._latest else None,
        )
        self._latest = AttemptTrace(span, call)
        return self._latest

    def _asked(self, call: Call, number: int, predicted_tokens: int | None) -> dict[str, attributes.Value]:
        told = (call, number, predicted_tokens, self._stream, self._redactor)
        return attributes.asked(*told, operation=self._operation)

    def settle(self, settlement: Settlement) -> None:
        if self._span.is_recording():
            self._span.set_attributes(attributes.settled(settlement, self._redactor))
            if is_our_error(settlement):
                self._span.set_status(StatusCode.ERROR, self._redactor.clean(settlement.error_code))
        self._span.end()


class AttemptTrace:
    """`headers` carry the attempt's trace context to the upstream."""

    def __init__(self, span: Span, call: Call) -> None:
        self._span = span
        self._call = call
        self._ended: str | None = None
        self.headers: dict[str, str] = {}
        _W3C.inject(self.headers, context=set_span_in_context(span, Context()))

    def link_from(self, call: Call) -> Link:
        """How a later attempt refers to this one: the same model again, another model in its place, because this one failed or
        because its answer was given up, or beside it while it goes on."""
        return Link(self._span.get_span_context(), {names.LINK_TYPE: self._link_type(call)})

    def _link_type(self, call: Call) -> str:
        if call.model == self._call.model:
            return "retry"
        if self._ended is None:
            return "beside"
        return "escalation" if self._ended in ("", "cancelled") else "fallback"

    def first_content(self, after_s: float) -> None:
        self._span.set_attribute(names.FIRST_CHUNK_S, after_s)

    def end(self, error_kind: str, usage: Usage | None) -> None:
        """A client that left is no error of the upstream."""
        self._ended = error_kind
        if self._span.is_recording():
            self._span.set_attributes(attributes.answered(error_kind, usage))
            if error_kind and error_kind != "cancelled":
                self._span.set_status(StatusCode.ERROR, error_kind)
        self._span.end()


def is_our_error(settlement: Settlement) -> bool:
    """A server span is in error when the server failed, not when the client asked badly (HTTP conventions)."""
    return outcome(settlement) == "cut" or settlement.status >= 500


@lru_cache(maxsize=512)
def _at(replica: str) -> tuple[SpanKind, dict[str, attributes.Value]]:
    """The span kind and the server's address; the provider is the one whose API is spoken."""
    if replica.startswith("in-process:"):
        return SpanKind.INTERNAL, {names.PROVIDER: "turnout"}
    return SpanKind.CLIENT, {names.PROVIDER: "openai"} | _address(replica)


def _address(replica: str) -> dict[str, attributes.Value]:
    try:
        url = urlsplit(replica)
        port = url.port or {"https": 443}.get(url.scheme, 80)
    except ValueError:  # not a URL that we can read; observing never raises
        return {}
    return {names.SERVER_ADDRESS: url.hostname or "", names.SERVER_PORT: port}
