"""Delivery of traces by a thread: a bounded queue, spans made there, the SDK's exporter, a deadline at the end."""

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult

from gateway.telemetry.delivery import Dropped
from gateway.telemetry.shadows import ShadowTrace
from gateway.telemetry.spans import Spans
from gateway.telemetry.traces import RequestTrace

QUEUE = 2_048
"""Traces that wait for delivery; whoever comes when it is full is dropped. Each is some 5 KB."""

BATCH = 512
"""Spans of one export."""

WAKES = 128
"""Traces that are delivered before DELAY_S is over."""

DELAY_S = 1.0
COLLECTOR_TIMEOUT_S = 5.0
TRACES_PATH = "/v1/traces"


class SpanDelivery:
    """Traces wait in a bounded queue; a thread makes their spans and exports them. What fails only counts."""

    def __init__(self, exporter: SpanExporter, spans: Spans, dropped: Dropped, queue: int = QUEUE) -> None:
        self._exporter = exporter
        self._spans = spans
        self._dropped = dropped
        self._most = queue
        self._waiting: deque[RequestTrace | ShadowTrace] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="deliver-traces", daemon=True)
        self._thread.start()

    def deliver(self, trace: RequestTrace | ShadowTrace) -> None:
        if self._closing or len(self._waiting) >= self._most:
            self._dropped("span", trace.spans)
            return
        self._waiting.append(trace)
        if len(self._waiting) >= WAKES:
            self._wake.set()

    async def aclose(self, within_s: float) -> None:
        """A collector that hangs keeps the thread, which need not end, and what waits behind it is dropped."""
        self._closing = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join, within_s)
        while self._waiting:
            self._dropped("span", self._waiting.popleft().spans)

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(DELAY_S)
            self._wake.clear()
            self._drain()
        self._drain()
        self._exporter.shutdown()

    def _drain(self) -> None:
        while batch := self._batch():
            self._export(batch)

    def _batch(self) -> list[RequestTrace | ShadowTrace]:
        """What makes about BATCH spans."""
        batch: list[RequestTrace | ShadowTrace] = []
        spans = 0
        while self._waiting and spans < BATCH:
            batch.append(self._waiting.popleft())
            spans += batch[-1].spans
        return batch

    def _export(self, batch: list[RequestTrace | ShadowTrace]) -> None:
        try:
            spans: Sequence[ReadableSpan] = [span for trace in batch for span in self._spans.of(trace)]
            delivered = self._exporter.export(spans) is SpanExportResult.SUCCESS
        except Exception:  # any exporter, any network library: all a request may notice is a counter
            delivered = False
        if not delivered:
            self._dropped("span", sum(trace.spans for trace in batch))


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
