"""Where spans go: nowhere, the console, or an OTLP/HTTP collector. Always off the request's path."""

from collections.abc import Callable
from typing import Literal, Protocol

from opentelemetry.trace import NoOpTracer, Tracer

Dropped = Callable[[str, int], None]
"""Told of a signal ("span", "log") and how many could not be delivered."""


class Delivery(Protocol):
    @property
    def tracer(self) -> Tracer: ...

    async def aclose(self, within_s: float) -> None:
        """Deliver what waits, for `within_s` seconds at most, then stop."""
        ...


class NoDelivery:
    """Records nothing and passes a caller's trace context through."""

    def __init__(self) -> None:
        self.tracer: Tracer = NoOpTracer()

    async def aclose(self, within_s: float) -> None:
        pass


def open_delivery(
    traces: Literal["off", "console", "otlp"], endpoint: str | None, service_name: str, sampled: float, dropped: Dropped
) -> Delivery:
    """Raises ValueError when `traces` is otlp without an `endpoint`, or `sampled` is not in [0, 1]."""
    if not 0.0 <= sampled <= 1.0:
        raise ValueError(f"sampled is {sampled}, but a share of traces lies between 0 and 1")
    if traces == "off":
        return NoDelivery()

    from gateway.telemetry import export

    exporter = export.to_console() if traces == "console" else export.to_collector(endpoint)
    return export.SpanDelivery(exporter, service_name, sampled, dropped)
