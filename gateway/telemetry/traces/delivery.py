"""Where kept traces go: nowhere, the console, or an OTLP/HTTP collector. Always off the request's path."""

from collections.abc import Callable
from typing import Protocol

from gateway.settings import Traces
from gateway.telemetry.redact import Redactor
from gateway.telemetry.seen import RequestSeen
from gateway.telemetry.shadows import ShadowTrace

TRACES_PATH = "/v1/traces"

Dropped = Callable[[str, int], None]
"""Told of a signal ("span", "log") and how many could not be delivered."""


class Delivery(Protocol):
    def deliver(self, trace: RequestSeen | ShadowTrace) -> None:
        """Takes a finished request or a call of a shadow, or drops and counts it; never waits."""
        ...

    async def aclose(self, within_s: float) -> None:
        """Deliver what waits, for `within_s` seconds at most, then stop."""
        ...


def open_delivery(
    traces: Traces,
    endpoint: str | None,
    service_name: str,
    redactor: Redactor,
    dropped: Dropped,
) -> Delivery | None:
    """None when `traces` is off. Raises ValueError when it is otlp without an `endpoint`."""
    if traces == "off":
        return None
    from gateway.telemetry.traces.export import Exports, SpanDelivery

    url = None if traces == "console" else collector_url(endpoint)

    def opening() -> Exports:
        from gateway.telemetry.traces import exporters
        from gateway.telemetry.traces.spans import Spans, resource_of

        exporter = exporters.to_console() if url is None else exporters.to_collector(url)
        return exporters.SpanExports(exporter, Spans(resource_of(service_name), redactor))

    return SpanDelivery(opening, dropped)


def collector_url(endpoint: str | None) -> str:
    """`endpoint` may leave out TRACES_PATH. Raises ValueError without one.

    >>> collector_url("http://collector:4318/")
    'http://collector:4318/v1/traces'
    """
    if not endpoint:
        raise ValueError("traces to otlp need the address of a collector, such as http://collector:4318")
    url = endpoint.rstrip("/")
    return url if url.endswith(TRACES_PATH) else url + TRACES_PATH
