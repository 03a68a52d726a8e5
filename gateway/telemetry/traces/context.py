"""W3C trace context, in and out: whose trace a request is part of, and what upstreams are told of it."""

from collections.abc import Mapping

from opentelemetry.context import Context
from opentelemetry.trace import SpanContext, TraceState, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"

MOST_MEMBERS = 32
"""Of a tracestate, as W3C Trace Context has it."""

_W3C = TraceContextTextMapPropagator()


def caller_of(headers: Mapping[str, str]) -> SpanContext | None:
    """The span that asked; None where there is none, or none that is well formed. Names of headers are in lower case."""
    if TRACEPARENT not in headers:
        return None
    found = get_current_span(_W3C.extract(headers, context=Context())).get_span_context()
    return found if found.is_valid else None


def onward(trace_id: str, span_id: int, state: str, *, is_sampled: bool) -> dict[str, str]:
    """What an upstream is told: `trace_id` in 32 hex digits, the span that asks, and a tracestate, or "".

    >>> onward(32 * "1", 2, "", is_sampled=False), onward(32 * "1", 2, "vendor=1", is_sampled=True)["tracestate"]
    ({'traceparent': '00-11111111111111111111111111111111-0000000000000002-00'}, 'vendor=1')
    """
    parent = f"00-{trace_id}-{span_id:016x}-{'01' if is_sampled else '00'}"
    return {TRACEPARENT: parent, TRACESTATE: state} if state else {TRACEPARENT: parent}


def fields_of(state: TraceState) -> dict[str, str]:
    """What the member `ot` of a tracestate says.

    >>> fields_of(TraceState([("ot", "th:c;rv:0123456789abcd"), ("vendor", "1")]))
    {'th': 'c', 'rv': '0123456789abcd'}
    """
    parts = [part.partition(":") for part in state.get("ot", "").split(";") if part]
    return {key: value for key, _, value in parts}


def with_threshold(state: TraceState, threshold: str) -> TraceState:
    """The same members, `ot` first and with this `th`; what else it says stays."""
    fields = {**fields_of(state), "th": threshold}
    ours = "ot", ";".join(f"{key}:{value}" for key, value in fields.items())
    return TraceState([ours, *[item for item in state.items() if item[0] != "ot"][: MOST_MEMBERS - 1]])
