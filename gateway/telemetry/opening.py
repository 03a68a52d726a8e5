"""Part of wiring: an Observer with what it hands things to, each imported where it is asked for."""

import time
from collections.abc import Callable, Collection, Iterable
from typing import TextIO

from gateway.secrets import Secret
from gateway.settings import LogForm, Traces
from gateway.telemetry.observe import Observer
from gateway.telemetry.unseen import NullObserver


def build_observer(
    *,
    traces: Traces = "off",
    otlp_endpoint: str | None = None,
    metrics: bool = True,
    log: LogForm = "json",
    service_name: str = "turnout",
    sampled: float = 1.0,
    slow_s: float = 10.0,
    trusts_callers: bool = True,
    baggage_to: Collection[str] = (),
    secrets: Iterable[Secret] = (),
    log_to: TextIO | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Observer:
    """An Observer with its own tracer provider and registry; nothing global is set.

    `otlp_endpoint` is the collector's base URL or its full traces URL. What went wrong, was escalated, or took
    more than `slow_s` to its first content is always kept, and the share `sampled` of all else; with `trusts_callers` a trace
    that a caller started goes on and its choice holds, else it is linked to. Upstreams at the hosts `baggage_to` are told the
    variants. `secrets` never leave in any form.
    Raises ValueError when `traces` is otlp without an endpoint, or `sampled` is not in [0, 1].
    """
    if traces == "off" and not metrics and log == "off" and not baggage_to:
        return NullObserver()

    from gateway.telemetry.live import LiveObserver
    from gateway.telemetry.logs import RequestLog
    from gateway.telemetry.metrics.metrics import Metrics
    from gateway.telemetry.redact import Redactor
    from gateway.telemetry.traces.baggage import Baggage
    from gateway.telemetry.traces.delivery import open_delivery
    from gateway.telemetry.traces.sampling import Sampling
    from gateway.telemetry.traces.tracing import Tracing

    redactor, counters, sampling = Redactor(secrets), Metrics(), Sampling(sampled, slow_s)
    delivery = open_delivery(traces, otlp_endpoint, service_name, redactor, counters.dropped)
    return LiveObserver(
        delivery=delivery,
        tracing=Tracing(None if delivery is None else delivery.deliver, sampling, trusts=trusts_callers),
        baggage=Baggage(baggage_to),
        metrics=counters,
        shows_metrics=metrics,
        log=None if log == "off" else RequestLog(log, redactor, log_to),
        clock=clock,
    )
