"""A call for comparison as telemetry sees it: a trace of its own, linked to the request's, and metrics that are not those of
requests."""

import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from backends.messages import Usage
from gateway.telemetry.traces import attributes
from gateway.telemetry.traces.context import onward
from policies.decision import Call

if TYPE_CHECKING:
    from gateway.telemetry.metrics.metrics import Metrics
    from gateway.telemetry.seen import RequestSeen


class ShadowTrace:
    """One call. It is kept where the trace of its request was. Instants in nanoseconds of the wall clock."""

    __slots__ = ("_deliver", "call", "dialect", "ended", "ended_at", "microusd", "of", "shadow", "span_id", "started_at",
                 "trace_number", "usage")  # fmt: skip

    def __init__(
        self, of: "RequestSeen", deliver: "Callable[[ShadowTrace], None]", shadow: str, call: Call, dialect: str
    ) -> None:
        self.of = of
        self._deliver = deliver
        self.shadow = shadow
        self.call = call
        self.dialect = dialect
        self.trace_number = random.getrandbits(128) or 1
        self.span_id = random.getrandbits(64) or 1
        self.started_at = self.ended_at = time.time_ns()
        self.ended = "cancelled"
        self.usage: Usage | None = None
        self.microusd = 0

    @property
    def spans(self) -> int:
        return 1

    def headers(self) -> dict[str, str]:
        """The trace context for the upstream; an engine in this process needs none."""
        if attributes.is_local(self.call):
            return {}
        return onward(f"{self.trace_number:032x}", self.span_id, "", is_sampled=self.of.kept is not None)

    def end(self, error_kind: str, usage: Usage | None, microusd: int) -> None:
        self.ended, self.usage, self.microusd, self.ended_at = error_kind, usage, microusd, time.time_ns()
        if self.of.kept is not None:
            self._deliver(self)


class LiveShadow:
    """`trace` None: traces are off."""

    __slots__ = ("_clock", "_metrics", "_shadow", "_started_at", "_trace")

    def __init__(self, shadow: str, trace: ShadowTrace | None, metrics: "Metrics", clock: Callable[[], float]) -> None:
        self._shadow = shadow
        self._trace = trace
        self._metrics = metrics
        self._clock = clock
        self._started_at = clock()

    @property
    def headers(self) -> Mapping[str, str]:
        return {} if self._trace is None else self._trace.headers()

    @property
    def trace_id(self) -> str:
        return "" if self._trace is None else f"{self._trace.trace_number:032x}"

    def end(self, error_kind: str, usage: Usage | None, microusd: int) -> None:
        self._metrics.shadow_asked(self._shadow, self._clock() - self._started_at, microusd)
        if self._trace is not None:
            self._trace.end(error_kind, usage, microusd)
