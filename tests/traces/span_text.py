"""A trace as text: from spans of the SDK or of OTLP, with what differs from run to run left out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import format_span_id, format_trace_id

from gateway.telemetry import names

Attributes = Mapping[str, object]

PASSING = {
    names.REQUEST_ID: "<id>",
    names.POLICY_HASH: "<hash>",
    names.FLAG_CONTEXT: "<digest>",
    names.SERVER_PORT: "<port>",
    names.DECISION_US: "<us>",
    names.TTFT_MS: "<ms>",
    names.FIRST_CHUNK_S: "<s>",
}
"""Attributes whose presence counts, not their value."""

KINDS = {1: "INTERNAL", 2: "SERVER", 3: "CLIENT"}


@dataclass(frozen=True)
class Seen:
    """One span. Ids in hex digits; instants in nanoseconds."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: str
    error: str
    state: str
    started_at: int
    ended_at: int
    attributes: Attributes
    events: Sequence[tuple[str, Attributes]]
    links: Sequence[tuple[str, str, Attributes]]
    """Trace, span, attributes."""


def seen_in_memory(span: ReadableSpan) -> Seen:
    context = span.context
    assert context is not None
    is_error = span.status.status_code.name == "ERROR"
    links = [
        (format_trace_id(link.context.trace_id), format_span_id(link.context.span_id), dict(link.attributes or {}))
        for link in span.links
    ]
    return Seen(
        trace_id=format_trace_id(context.trace_id),
        span_id=format_span_id(context.span_id),
        parent_id=format_span_id(span.parent.span_id) if span.parent else "",
        name=span.name,
        kind=span.kind.name,
        error=(span.status.description or "") if is_error else "",
        state=context.trace_state.to_header(),
        started_at=span.start_time or 0,
        ended_at=span.end_time or 0,
        attributes=dict(span.attributes or {}),
        events=[(event.name, dict(event.attributes or {})) for event in span.events],
        links=links,
    )


def seen_over_otlp(span: trace_pb2.Span) -> Seen:
    is_error = span.status.code == trace_pb2.Status.STATUS_CODE_ERROR
    return Seen(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        name=span.name,
        kind=KINDS[span.kind],
        error=span.status.message if is_error else "",
        state=span.trace_state,
        started_at=span.start_time_unix_nano,
        ended_at=span.end_time_unix_nano,
        attributes=_plain(span.attributes),
        events=[(event.name, _plain(event.attributes)) for event in span.events],
        links=[(link.trace_id.hex(), link.span_id.hex(), _plain(link.attributes)) for link in span.links],
    )


def _plain(attributes: Sequence[KeyValue]) -> dict[str, object]:
    return {pair.key: _value(pair.value) for pair in attributes}


def _value(value: AnyValue) -> object:
    if value.HasField("array_value"):
        return tuple(_value(part) for part in value.array_value.values)
    return getattr(value, str(value.WhichOneof("value")))


def traces_of(spans: Sequence[Seen]) -> list[list[Seen]]:
    """The spans of each request, by its start; in each the request's own first, the others as they began, then those of other
    traces that are linked to it."""
    began = sorted(spans, key=lambda span: span.started_at)
    roots = [span for span in began if span.kind == "SERVER"]
    return [[root, *[s for s in began if s.parent_id == root.span_id], *beside(began, root)] for root in roots]


def beside(spans: Sequence[Seen], root: Seen) -> list[Seen]:
    """Of shadows."""
    return [s for s in spans if s.trace_id != root.trace_id and root.span_id in {span_id for _, span_id, _ in s.links}]


def text_of(trace: Sequence[Seen], places: Mapping[str, str]) -> str:
    """`places` are texts that stand for others, such as addresses."""
    root, *children = trace
    ids = {span.span_id: f"attempt {span.attributes[names.ATTEMPT_NUMBER]}" for span in _attempts(children)}
    parent = "  parent: the caller\n" if root.parent_id else ""
    state = f"  tracestate: {root.state}\n"
    ids[root.span_id] = "the request"
    text = _span(root, "", ids, parent + state)
    for span in children:
        text += (
            _span(span, "  ", ids) if span.trace_id == root.trace_id else f"IN ANOTHER TRACE\n{_span(span, '', ids)}"
        )
    for address, place in places.items():
        text = text.replace(address, place)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<instant>", text)
    return re.sub(r"http://A/v\d", "http://A/v1", text)


def _attempts(spans: Sequence[Seen]) -> list[Seen]:
    return [span for span in spans if names.ATTEMPT_NUMBER in span.attributes]


def _span(span: Seen, indent: str, ids: Mapping[str, str], more: str = "") -> str:
    lines = [f"{indent}{span.kind} {span.name}{f'  ERROR {span.error}' if span.error else ''}\n", more]
    lines += [f"{indent}  {line}\n" for line in _lines(span.attributes)]
    for name, attributes in span.events:
        lines += [f"{indent}  event {name}\n", *[f"{indent}    {line}\n" for line in _lines(attributes)]]
    for _, span_id, attributes in span.links:
        lines.append(f"{indent}  link to {ids.get(span_id, 'the caller')}: {', '.join(_lines(attributes))}\n")
    return "".join(lines)


def _lines(attributes: Attributes) -> list[str]:
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in attributes.items()}
    return [f"{name} = {PASSING.get(name, value)}" for name, value in plain.items()]
