"""Where kept traces go: nowhere, the console, or an OTLP/HTTP collector. Always off the request's path."""

from collections.abc import Callable
from typing import Literal, Protocol

from gateway.telemetry.redact import Redactor
from gateway.telemetry.shadows import ShadowTrace
from gateway.telemetry.traces import RequestTrace

Dropped = Callable[[str, int], None]
"""Told of a signal ("span", "log") and how many could not be delivered."""


class Delivery(Protocol):
    def deliver(self, trace: RequestTrace | ShadowTrace) -> None:
        """Takes a finished request or a call of a shadow, or drops and counts it; never waits."""
        ...

    async def aclose(self, within_s: float) -> None:
        """Deliver what waits, for `within_s` seconds at most, then stop."""
        ...


def open_delivery(
    traces: Literal["off", "console", "otlp"],
    endpoint: str | None,
    service_name: str,
    redactor: Redactor,
    dropped: Dropped,
) -> Delivery | None:
    """None when `traces` is off. Raises ValueError when it is otlp without an `endpoint`."""
    if traces == "off":
        return None

    from gateway.telemetry import export
    from gateway.telemetry.spans import Spans, resource_of

    exporter = export.to_console() if traces == "console" else export.to_collector(endpoint)
    return export.SpanDelivery(exporter, Spans(resource_of(service_name), redactor), dropped)
