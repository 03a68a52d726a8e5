"""Spans as bytes of OTLP: its ExportTraceServiceRequest in protobuf's binary form.

Numbers of fields are those of opentelemetry-proto, which may not change. The SDK's encoder brings protobuf's runtime, and its
exporter an HTTP client of its own: 10 MB of a process, for a hundred lines.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec
from opentelemetry.trace import Link, SpanContext, SpanKind, Status

from gateway.telemetry.attributes import Value

KINDS = {
    SpanKind.INTERNAL: 1,
    SpanKind.SERVER: 2,
    SpanKind.CLIENT: 3,
    SpanKind.PRODUCER: 4,
    SpanKind.CONSUMER: 5,
}

KNOWS_REMOTE, IS_REMOTE = 0x100, 0x200
"""Of `flags`: whether who is meant is of another process is known, and is so."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Kinds of a field on the wire."""

SMALL = [bytes((number,)) for number in range(0x80)]
"""Varints of one byte, which nearly all are."""


class Event(msgspec.Struct, frozen=True):
    """Something at one instant, in nanoseconds of the wall clock."""

    name: str
    attributes: Mapping[str, Value]
    timestamp: int


class Scope(msgspec.Struct, frozen=True):
    """Who writes spans, and of which resource."""

    name: str
    resource: Mapping[str, Value]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One that has ended. Instants in nanoseconds of the wall clock."""

    name: str
    context: SpanContext
    parent: SpanContext | None
    kind: SpanKind
    attributes: Mapping[str, Value]
    status: Status
    start_time: int
    end_time: int
    events: Sequence[Event] = ()
    links: Sequence[Link] = ()


def request_of(spans: Iterable[Span], scope: Scope) -> bytes:
    """One export."""
    written = b"".join([_told(2, span_of(span)) for span in spans])
    within = _told(1, _text(1, scope.name)) + written
    return _told(1, _told(1, _attributes(1, scope.resource)) + _told(2, within))


def span_of(span: Span) -> bytes:
    """A `Span` of opentelemetry.proto.trace.v1."""
    context, parent = span.context, span.parent
    status = _text(2, span.status.description or "") + _number(3, span.status.status_code.value)
    return b"".join(
        [
            _ids(context),
            _text(3, context.trace_state.to_header()),
            _told(4, parent.span_id.to_bytes(8)) if parent is not None else b"",
            _text(5, span.name),
            _number(6, KINDS[span.kind]),
            _tag(7, FIXED64) + struct.pack("<Q", span.start_time),
            _tag(8, FIXED64) + struct.pack("<Q", span.end_time),
            _attributes(9, span.attributes),
            *[_told(11, _event(event)) for event in span.events],
            *[_told(13, _link(link)) for link in span.links],
            _told(15, status),
            _flags(16, parent),
        ]
    )


def _event(event: Event) -> bytes:
    at = _tag(1, FIXED64) + struct.pack("<Q", event.timestamp)
    return at + _text(2, event.name) + _attributes(3, event.attributes)


def _link(link: Link) -> bytes:
    return _ids(link.context) + _attributes(4, link.attributes or {}) + _flags(6, link.context)


def _ids(context: SpanContext) -> bytes:
    return _told(1, context.trace_id.to_bytes(16)) + _told(2, context.span_id.to_bytes(8))


def _flags(field: int, other: SpanContext | None) -> bytes:
    known = KNOWS_REMOTE | (IS_REMOTE if other is not None and other.is_remote else 0)
    return _tag(field, FIXED32) + struct.pack("<I", known)


def _attributes(field: int, attributes: Mapping[str, object]) -> bytes:
    return b"".join([_told(field, _key(key) + _told(2, _value(value))) for key, value in attributes.items()])


@lru_cache(maxsize=512)
def _key(name: str) -> bytes:
    return _text(1, name)


def _value(value: object) -> bytes:
    """An `AnyValue`. Raises TypeError where it is no `Value`."""
    match value:
        case str():
            return _told(1, value.encode(errors="replace"))
        case bool():
            return _tag(2, VARINT) + _varint(value)
        case int():
            return _tag(3, VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)
        case float():
            return _tag(4, FIXED64) + struct.pack("<d", value)
        case list() | tuple():
            return _told(5, b"".join([_told(1, _value(part)) for part in value]))
        case _:
            raise TypeError(f"{type(value).__name__} is no value of an attribute")


def _text(field: int, text: str) -> bytes:
    return _told(field, text.encode(errors="replace")) if text else b""


def _number(field: int, number: int) -> bytes:
    return _tag(field, VARINT) + _varint(number) if number else b""


def _told(field: int, content: bytes) -> bytes:
    size = len(content)
    return _tag(field, BYTES) + (SMALL[size] if size <= 0x7F else _varint(size)) + content


@lru_cache(maxsize=64)
def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first.

    >>> _varint(300).hex()
    'ac02'
    """
    if number <= 0x7F:
        return SMALL[number]
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
