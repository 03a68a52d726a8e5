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


class Onward:
    """How a trace goes on at upstreams: under the span of each attempt, or under `span_id` where it is only passed on.
    `state` is a tracestate, or ""."""

    __slots__ = ("is_sampled", "span_id", "state", "trace_id", "trace_number")

    def __init__(self, trace_number: int, state: str, is_sampled: bool, span_id: int | None = None) -> None:
        self.trace_number = trace_number
        self.trace_id = f"{trace_number:032x}"
        self.state = state
        self.is_sampled = is_sampled
        self.span_id = span_id

    def headers(self, span_id: int) -> dict[str, str]:
        """
        >>> Onward(1, "", False).headers(2), Onward(1, "vendor=1", True, 3).headers(2)["tracestate"]
        ({'traceparent': '00-00000000000000000000000000000001-0000000000000002-00'}, 'vendor=1')
        """
        span_id = self.span_id or span_id
        parent = f"00-{self.trace_id}-{span_id:016x}-{'01' if self.is_sampled else '00'}"
        return {TRACEPARENT: parent, TRACESTATE: self.state} if self.state else {TRACEPARENT: parent}


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
