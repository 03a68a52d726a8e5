"""A kept request as spans of the OpenTelemetry SDK.

They are made when the request is over, so that one that is not kept needs none. The SDK's tracer would decide at the
beginning, and start each span with a lock and a bounded dictionary.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import version

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from gateway.budgets.told import Budgeted
from gateway.request.settlement import Settlement
from gateway.telemetry import budgets, names
from gateway.telemetry.redact import Redactor
from gateway.telemetry.seen import AttemptSeen, RequestSeen, fresh_span_id
from gateway.telemetry.shadows import ShadowTrace
from gateway.telemetry.traces import attributes
from gateway.telemetry.traces.sampling import is_our_error
from gateway.telemetry.traces.tracing import MOST_ATTEMPTS, NO_STATE

UNSET = Status(StatusCode.UNSET)
_SCOPE = InstrumentationScope(names.SCOPE)
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class Spans:
    """Writes the spans of requests of one process."""

    def __init__(self, resource: Resource, redactor: Redactor) -> None:
        self._resource = resource
        self._redactor = redactor

    def of(self, trace: RequestSeen | ShadowTrace) -> Iterator[ReadableSpan]:
        """The request's own, the route's, its attempts', and the one of an answer that was given up; of a shadow one."""
        if isinstance(trace, ShadowTrace):
            yield self._shadowed(trace)
            return
        settlement = trace.settlement
        assert settlement is not None
        yield self._served(trace, settlement)
        if trace.judged is not None:
            yield self._decided(trace)
        if settlement.budgeted is not None:
            yield from self._budgeted(trace, settlement.budgeted)
        for attempt in trace.attempts[:MOST_ATTEMPTS]:
            yield self._attempted(trace, attempt)
        if trace.given_up is not None:
            yield self._escalated(trace, trace.given_up, settlement)

    def _served(self, trace: RequestSeen, settlement: Settlement) -> ReadableSpan:
        known: dict[str, attributes.Value] = {
            names.HTTP_METHOD: trace.method,
            names.HTTP_ROUTE: trace.route_path,
            names.REQUEST_ID: trace.request_id,
            names.KEPT: trace.kept or "",
        }
        links = [Link(trace.linked, {names.LINK_TYPE: "caller"})] if trace.linked is not None else []
        error = self._redactor.clean(settlement.error_code)
        return ReadableSpan(
            name=trace.name,
            context=self._context(trace, trace.span_id),
            parent=trace.parent,
            kind=SpanKind.SERVER,
            attributes=known | attributes.settled(settlement, self._redactor),
            links=links,
            status=Status(StatusCode.ERROR, error) if is_our_error(settlement) else UNSET,
            start_time=trace.started_at,
            end_time=trace.ended_at,
            resource=self._resource,
            instrumentation_scope=_SCOPE,
        )

    def _decided(self, trace: RequestSeen) -> ReadableSpan:
        assert trace.judged is not None
        facts, decision, estimate, took_us = trace.judged
        told = trace.settlement.budgeted if trace.settlement is not None else None
        end = trace.decided_at if told is None else min(trace.decided_at, told.began_at)
        events = [Event(names.FLAG_EVALUATION, attributes.assigned(found), end) for found in decision.assignments]
        known = attributes.decided(facts, decision, estimate, took_us, self._redactor)
        began = max(trace.started_at, end - (took_us or 0) * 1_000)
        return self._within(trace, names.ROUTE_SPAN, known, started_at=began, ended_at=end, events=events)

    def _attempted(self, trace: RequestSeen, attempt: AttemptSeen) -> ReadableSpan:
        """A client that left is no error of the upstream."""
        operation = names.OPERATIONS.get(trace.route_path, names.CHAT)
        ended = attempt.ended or ""
        before = attempt.before
        told: dict[str, str] = {names.LINK_TYPE: attempt.link or ""}
        if attempt.link == "hedge":
            told[names.HEDGE_RESULT] = attempt.hedge_result
        links = [Link(self._context(trace, before.span_id), told)] if before else []
        return ReadableSpan(
            name=f"{operation} {attempt.call.model}",
            context=self._context(trace, attempt.span_id),
            parent=self._context(trace, trace.span_id),
            kind=SpanKind.INTERNAL if attributes.is_local(attempt.call) else SpanKind.CLIENT,
            attributes=self._asked(trace, attempt, operation) | attributes.answered(ended, attempt.usage),
            links=links,
            status=Status(StatusCode.ERROR, ended) if ended not in ("", "cancelled") else UNSET,
            start_time=attempt.started_at,
            end_time=attempt.ended_at,
            resource=self._resource,
            instrumentation_scope=_SCOPE,
        )

    def _shadowed(self, trace: ShadowTrace) -> ReadableSpan:
        """The root of its own trace. No request waits for it, and none fails by it."""
        call, judged = trace.call, trace.of.judged
        stream = judged is not None and judged[0].stream
        provider = attributes.provider_of(call, trace.dialect)
        known = attributes.asked(call, stream, self._redactor, operation=names.CHAT, provider=provider)
        known |= {names.SHADOW: trace.shadow, names.SHADOW_MICROUSD: trace.microusd}
        known |= attributes.answered(trace.ended, trace.usage)
        ended = trace.ended
        return ReadableSpan(
            name=f"{names.CHAT} {call.model}",
            context=self._context_beside(trace),
            parent=None,
            kind=SpanKind.INTERNAL if attributes.is_local(call) else SpanKind.CLIENT,
            attributes=known,
            links=[Link(self._context(trace.of, trace.of.span_id), {names.LINK_TYPE: "shadow"})],
            status=Status(StatusCode.ERROR, ended) if ended not in ("", "cancelled") else UNSET,
            start_time=trace.started_at,
            end_time=trace.ended_at,
            resource=self._resource,
            instrumentation_scope=_SCOPE,
        )

    def _asked(self, trace: RequestSeen, attempt: AttemptSeen, operation: str) -> dict[str, attributes.Value]:
        call, stream = attempt.call, trace.judged is not None and trace.judged[0].stream
        untold = trace.judged[1].untold if trace.judged is not None else ()
        provider = attributes.provider_of(call, attempt.dialect)
        known = attributes.asked(call, stream, self._redactor, operation=operation, provider=provider)
        known[names.ATTEMPT_NUMBER] = attempt.number
        if call.model in untold:
            known[names.LEFT_OUT] = "thinking"
        if attempt.resends:
            known[names.RESEND_COUNT] = attempt.resends
        if attempt.predicted_tokens is not None:
            known[names.PREDICTED_TOKENS] = attempt.predicted_tokens
        if attempt.first_content_s is not None:
            known[names.FIRST_CHUNK_S] = attempt.first_content_s
        return known

    def _escalated(self, trace: RequestSeen, attempt: AttemptSeen, settlement: Settlement) -> ReadableSpan:
        """From the first content, which was held back from then on, until it was given up."""
        held_from = attempt.started_at + int((attempt.first_content_s or 0.0) * 1e9)
        known = attributes.judged(settlement) | {names.REASON: self._redactor.clean(settlement.reason)}
        end = attempt.ended_at
        return self._within(trace, names.ESCALATE_SPAN, known, started_at=min(held_from, end), ended_at=end)

    def _budgeted(self, trace: RequestSeen, told: Budgeted) -> Iterator[ReadableSpan]:
        """What was set aside, and what of it was spent."""
        yield self._within(
            trace, names.RESERVE_SPAN, budgets.reserved(told), started_at=told.began_at, ended_at=told.ended_at
        )
        if told.settled_at:
            at = told.settled_at
            yield self._within(trace, names.SETTLE_SPAN, budgets.settled(told), started_at=at, ended_at=at)

    def _within(
        self,
        trace: RequestSeen,
        name: str,
        known: Mapping[str, attributes.Value],
        *,
        started_at: int,
        ended_at: int,
        events: list[Event] | None = None,
    ) -> ReadableSpan:
        """A span of our own work inside a request."""
        return ReadableSpan(
            name=name,
            context=self._context(trace, fresh_span_id()),
            parent=self._context(trace, trace.span_id),
            attributes=known,
            events=events or (),
            start_time=started_at,
            end_time=ended_at,
            resource=self._resource,
            instrumentation_scope=_SCOPE,
        )

    def _context_beside(self, trace: ShadowTrace) -> SpanContext:
        """It stands for as many as its request does, but has nothing of who called."""
        state = NO_STATE if trace.of.kept == "caller" else trace.of.state
        return SpanContext(trace.trace_number, trace.span_id, is_remote=False, trace_flags=_SAMPLED, trace_state=state)

    def _context(self, trace: RequestSeen, span_id: int) -> SpanContext:
        return SpanContext(trace.trace_number, span_id, is_remote=False, trace_flags=_SAMPLED, trace_state=trace.state)


def resource_of(service_name: str) -> Resource:
    """Who writes; nothing of the process's environment is in it."""
    return Resource({"service.name": service_name, "service.version": version("turnout")})
