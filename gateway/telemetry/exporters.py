"""Where spans go. Imported when the first trace is delivered, by the thread that does it."""

import json
import sys
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from opentelemetry.trace import SpanContext, format_span_id, format_trace_id

from gateway.secrets import Secret
from gateway.telemetry import otlp
from gateway.telemetry.otlp import Span
from gateway.telemetry.seen import RequestSeen
from gateway.telemetry.shadows import ShadowTrace
from gateway.telemetry.spans import Spans

COLLECTOR_TIMEOUT_S = 5.0

PASSING = (429, 502, 503, 504)
"""What a collector may answer differently in a moment (OTLP, "Retryable response codes")."""

FIRST_WAIT_S = 0.5


class SpanExporter(Protocol):
    def export(self, spans: Sequence[Span], /) -> object:
        """Something true where they arrived. Blocks for COLLECTOR_TIMEOUT_S at most; may raise anything."""
        ...

    def shutdown(self) -> None: ...


class SpanExports:
    """Of one process, by one exporter."""

    def __init__(self, exporter: SpanExporter, spans: Spans) -> None:
        self._exporter = exporter
        self._spans = spans

    def export(self, traces: Sequence[RequestSeen | ShadowTrace]) -> bool:
        return bool(self._exporter.export([span for trace in traces for span in self._spans.of(trace)]))

    def close(self) -> None:
        self._exporter.shutdown()


class ToConsole:
    """One JSON object a line on standard error, beside the request log."""

    def export(self, spans: Sequence[Span]) -> bool:
        sys.stderr.write("".join([json.dumps(_plain(span)) + "\n" for span in spans]))
        sys.stderr.flush()
        return True

    def shutdown(self) -> None:
        pass


class ToCollector:
    """OTLP over HTTP with protobuf. `url` may begin with a name and a password for basic authentication."""

    def __init__(self, url: str, headers: Mapping[str, str], scope: otlp.Scope) -> None:
        parts = urlsplit(url)
        who, _, host = parts.netloc.rpartition("@")
        self._url = parts._replace(netloc=host).geturl()
        self._headers = {"content-type": "application/x-protobuf", **(_basic(who) if who else {}), **headers}
        self._scope = scope
        self._opener = build_opener(_StaysThere)

    def export(self, spans: Sequence[Span]) -> bool:
        """Raises OSError, http.client.HTTPException."""
        body, until, wait = otlp.request_of(spans, self._scope), time.monotonic() + COLLECTOR_TIMEOUT_S, FIRST_WAIT_S
        while True:
            status = self._send(body, max(0.1, until - time.monotonic()))
            if status not in PASSING or time.monotonic() + wait > until:
                return 200 <= status < 300
            time.sleep(wait)
            wait *= 2

    def _send(self, body: bytes, within_s: float) -> int:
        """The status that was answered."""
        try:
            with self._opener.open(Request(self._url, body, self._headers), timeout=within_s) as answer:
                answer.read()
                return int(answer.status)
        except HTTPError as refused:
            with refused:
                return refused.code

    def shutdown(self) -> None:
        self._opener.close()


class _StaysThere(HTTPRedirectHandler):
    """Traces and the collector's key go nowhere else, whatever it answers."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def headers_of(told: Secret | None) -> dict[str, str]:
    """What is to be sent, by names in lower case; a pair without `=` is left out.

    >>> headers_of(Secret("Authorization=Bearer%20abc, x-team=acme"))
    {'authorization': 'Bearer abc', 'x-team': 'acme'}
    """
    pairs = [pair.partition("=") for pair in told.reveal().split(",")] if told is not None else []
    return {unquote(name).strip().lower(): unquote(value).strip() for name, equals, value in pairs if equals}


def _basic(who: str) -> dict[str, str]:
    """
    >>> _basic("me:p%40ss")
    {'authorization': 'Basic bWU6cEBzcw=='}
    """
    return {"authorization": "Basic " + b64encode(unquote(who).encode()).decode()}


def _plain(span: Span) -> dict[str, object]:
    """A span as people read it."""
    return {
        "name": span.name,
        "context": _ids(span.context) | {"trace_state": span.context.trace_state.to_header()},
        "kind": span.kind.name,
        "parent_id": _ids(span.parent)["span_id"] if span.parent is not None else None,
        "start_time": span.start_time,
        "end_time": span.end_time,
        "status": {"code": span.status.status_code.name, "description": span.status.description},
        "attributes": dict(span.attributes),
        "events": [
            {"name": event.name, "timestamp": event.timestamp, "attributes": dict(event.attributes)}
            for event in span.events
        ],
        "links": [{"context": _ids(link.context), "attributes": dict(link.attributes or {})} for link in span.links],
    }


def _ids(context: SpanContext) -> dict[str, str]:
    return {"trace_id": format_trace_id(context.trace_id), "span_id": format_span_id(context.span_id)}
