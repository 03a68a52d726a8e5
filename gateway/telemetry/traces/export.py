"""Delivery of traces by a thread: a bounded queue, spans made and exported there, a deadline at the end."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from gateway.telemetry.seen import RequestSeen
from gateway.telemetry.shadows import ShadowTrace
from gateway.telemetry.traces.delivery import Dropped

QUEUE = 2_048
"""Traces that wait for delivery; whoever comes when it is full is dropped. Each is some 5 KB."""

BATCH = 512
"""Spans of one export."""

WAKES = 128
"""Traces that are delivered before DELAY_S is over."""

DELAY_S = 1.0


class Exports(Protocol):
    """Makes spans of traces, and takes them to where they go."""

    def export(self, traces: Sequence[RequestSeen | ShadowTrace]) -> bool:
        """Whether they arrived."""
        ...

    def close(self) -> None: ...


class SpanDelivery:
    """Traces wait in a bounded queue; a thread makes their spans and exports them. What fails only counts. `opening` makes
    what exports, when there is something to export."""

    def __init__(self, opening: Callable[[], Exports], dropped: Dropped, queue: int = QUEUE) -> None:
        self._opening = opening
        self._exports: Exports | None = None
        self._dropped = dropped
        self._most = queue
        self._waiting: deque[RequestSeen | ShadowTrace] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="deliver-traces", daemon=True)
        self._thread.start()

    def deliver(self, trace: RequestSeen | ShadowTrace) -> None:
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
        if self._exports is not None:
            self._exports.close()

    def _drain(self) -> None:
        while batch := self._batch():
            self._export(batch)

    def _batch(self) -> list[RequestSeen | ShadowTrace]:
        """What makes about BATCH spans."""
        batch: list[RequestSeen | ShadowTrace] = []
        spans = 0
        while self._waiting and spans < BATCH:
            batch.append(self._waiting.popleft())
            spans += batch[-1].spans
        return batch

    def _export(self, batch: list[RequestSeen | ShadowTrace]) -> None:
        try:
            self._exports = self._exports or self._opening()
            delivered = self._exports.export(batch)
        except Exception:  # any exporter, any network library: all a request may notice is a counter
            delivered = False
        if not delivered:
            self._dropped("span", sum(trace.spans for trace in batch))
