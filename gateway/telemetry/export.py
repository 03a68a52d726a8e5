"""The OpenTelemetry SDK, set up by hand: own provider, bounded queue, one thread, a deadline at the end."""

import asyncio
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

from gateway.telemetry import names
from gateway.telemetry.delivery import Dropped

QUEUE = 8_192
"""Spans that wait for delivery; beyond it the oldest are dropped."""

BATCH = 512
DELAY_MS = 1_000.0
COLLECTOR_TIMEOUT_S = 5.0
LONGEST_ATTRIBUTE = 1_024
MOST_ATTRIBUTES = 64
TRACES_PATH = "/v1/traces"


class SpanDelivery:
    """Spans end in a bounded queue; a thread of the SDK exports them in batches. A failed export only counts."""

    def __init__(self, exporter: SpanExporter, service_name: str, sampled: float, dropped: Dropped) -> None:
        self._provider = TracerProvider(
            sampler=ParentBasedTraceIdRatio(sampled),
            resource=Resource({"service.name": service_name, "service.version": version("turnout")}),
            shutdown_on_exit=False,
            span_limits=SpanLimits(
                max_attributes=MOST_ATTRIBUTES, max_events=16, max_links=16, max_attribute_length=LONGEST_ATTRIBUTE
            ),
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                CountingExporter(exporter, dropped),
                max_queue_size=QUEUE,
                schedule_delay_millis=DELAY_MS,
                max_export_batch_size=BATCH,
                export_timeout_millis=COLLECTOR_TIMEOUT_S * 1_000,
            )
        )
        self.tracer = self._provider.get_tracer(names.SCOPE)

    async def aclose(self, within_s: float) -> None:
        """The SDK's own shutdown may wait 30 s for a dead collector, so it gets a thread that need not end."""
        last = threading.Thread(target=self._provider.shutdown, name="telemetry-flush", daemon=True)
        last.start()
        await asyncio.to_thread(last.join, within_s)


class CountingExporter(SpanExporter):
    """Counts the spans that `inner` could not deliver, and lets none of its failures out."""

    def __init__(self, inner: SpanExporter, dropped: Dropped) -> None:
        self._inner = inner
        self._dropped = dropped

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._try(spans)
        if result is not SpanExportResult.SUCCESS:
            self._dropped("span", len(spans))
        return result

    def _try(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            return self._inner.export(spans)
        except Exception:  # any exporter, any network library: all a request may notice is a counter
            return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


def to_console() -> SpanExporter:
    """One JSON object a line on standard error, beside the request log."""
    return ConsoleSpanExporter(out=sys.stderr, formatter=lambda span: span.to_json(indent=None) + "\n")


def to_collector(endpoint: str | None) -> SpanExporter:
    """OTLP over HTTP with protobuf. `endpoint` may leave out TRACES_PATH. Raises ValueError without one."""
    if not endpoint:
        raise ValueError("traces to otlp need the address of a collector, such as http://collector:4318")
    url = endpoint.rstrip("/")
    return OTLPSpanExporter(
        endpoint=url if url.endswith(TRACES_PATH) else url + TRACES_PATH, timeout=COLLECTOR_TIMEOUT_S
    )
