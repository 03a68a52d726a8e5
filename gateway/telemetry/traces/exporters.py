"""The SDK's exporters, and the spans that they take. Imported when the first trace is delivered, by the thread that does it:
what they are made of is a tenth of a start."""

import sys
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult

from gateway.telemetry.seen import RequestSeen
from gateway.telemetry.shadows import ShadowTrace
from gateway.telemetry.traces.spans import Spans

COLLECTOR_TIMEOUT_S = 5.0


class SpanExports:
    """Of one process, by one exporter."""

    def __init__(self, exporter: SpanExporter, spans: Spans) -> None:
        self._exporter = exporter
        self._spans = spans

    def export(self, traces: Sequence[RequestSeen | ShadowTrace]) -> bool:
        spans = [span for trace in traces for span in self._spans.of(trace)]
        return self._exporter.export(spans) is SpanExportResult.SUCCESS

    def close(self) -> None:
        self._exporter.shutdown()


def to_console() -> SpanExporter:
    """One JSON object a line on standard error, beside the request log."""
    return ConsoleSpanExporter(out=sys.stderr, formatter=lambda span: span.to_json(indent=None) + "\n")


def to_collector(url: str) -> SpanExporter:
    """OTLP over HTTP with protobuf."""
    return OTLPSpanExporter(endpoint=url, timeout=COLLECTOR_TIMEOUT_S)
