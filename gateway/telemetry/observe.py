"""Telemetry as the request path sees it: one Observer for the process, one Observation for each request.

Observing returns at once and never raises: what cannot be delivered is dropped and counted.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, Protocol, TextIO

from backends.messages import Usage
from gateway.request.settlement import Settlement
from gateway.secrets import Secret
from gateway.telemetry.request_ids import RequestIds, fresh_request_id
from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.experiments.plan import Experiment
from policies.facts import Facts
from policies.policy import Choose

METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text"
OPENMETRICS_CONTENT_TYPE = f"{OPENMETRICS}; version=1.0.0; charset=utf-8"

NO_DIALECTS: Mapping[str, str] = {}

Traces = Literal["off", "console", "otlp"]
Log = Literal["json", "console", "off"]


class AttemptObservation(Protocol):
    @property
    def headers(self) -> Mapping[str, str]:
        """The trace context for the upstream; empty when there is none."""
        ...

    def first_content(self) -> None: ...

    def end(self, error_kind: str, usage: Usage | None) -> None:
        """`error_kind` is "" when it went well, "cancelled" when we gave it up, else a `backends.errors.Kind`."""
        ...


class ShadowObservation(Protocol):
    """One call for comparison, in a trace of its own."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def trace_id(self) -> str:
        """32 hex digits, or "" when there is no trace."""
        ...

    def end(self, error_kind: str, usage: Usage | None, microusd: int) -> None: ...


class Observation(Protocol):
    """One request. Call `settle` exactly when it is over; calling it again changes nothing."""

    @property
    def request_id(self) -> str: ...

    def decided(
        self, facts: Facts, decision: Decision, estimate: Estimate | None, decision_us: int | None = None
    ) -> None:
        """`decision_us` is what deciding took, in microseconds, if it was measured."""
        ...

    def attempt(self, call: Call, number: int, predicted_tokens: int | None = None) -> AttemptObservation:
        """`number` counts from 1; `predicted_tokens` of the prompt were believed resident there, if that was asked."""
        ...

    def settle(self, settlement: Settlement) -> None: ...

    def shadow(self, shadow: str, call: Call) -> ShadowObservation:
        """After it was settled: `call` is asked the same, for comparison alone."""
        ...


class Observer(Protocol):
    def begin(self, headers: Mapping[str, str], method: str, route_path: str) -> Observation:
        """A request arrived. `headers` have names in lower case; `route_path` is the route's, never the raw path."""
        ...

    def policy_loaded(
        self,
        policy_hash: str,
        routes: Iterable[str],
        models: Iterable[str],
        experiments: Iterable[Experiment] = (),
        dialects: Mapping[str, str] = NO_DIALECTS,
        *,
        shadows: Iterable[str] = (),
        budgets: Iterable[str] = (),
    ) -> None:
        """A policy came into force; its names become label values. `dialects` are those of its models' servers."""
        ...

    def policy_refused(self) -> None:
        """A changed policy file was not fit to be used."""
        ...

    def steered(self, route: str, choose: Choose, realised: float | None) -> None:
        """Where the line of a route is, and what its last requests came to, in percent of the target's reference."""
        ...

    def shadow_ended(self, shadow: str, result: str) -> None:
        """What became of a request that a shadow drew: one of `gateway.shadows.chapter.RESULTS`."""
        ...

    def not_kept(self, count: int) -> None:
        """So many records of decisions did not get into their log. May be called from any thread."""
        ...

    def metrics_page(self, *, exemplars: bool = False) -> bytes:
        """The text for `/metrics`, of type METRICS_CONTENT_TYPE, with `exemplars` OPENMETRICS_CONTENT_TYPE; empty when metrics
        are off."""
        ...

    def flush(self) -> None:
        """Write what waits to be written. Returns when it is."""
        ...

    async def aclose(self, within_s: float = 5.0) -> None:
        """Deliver what is queued, for `within_s` seconds at most."""
        ...


def build_observer(
    *,
    traces: Traces = "off",
    otlp_endpoint: str | None = None,
    metrics: bool = True,
    log: Log = "json",
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

    from gateway.telemetry.baggage import Baggage
    from gateway.telemetry.delivery import open_delivery
    from gateway.telemetry.live import LiveObserver
    from gateway.telemetry.logs import RequestLog
    from gateway.telemetry.metrics import Metrics
    from gateway.telemetry.redact import Redactor
    from gateway.telemetry.sampling import Sampling
    from gateway.telemetry.traces import Tracing

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


class NullObserver:
    """Sees nothing; a request still gets its id."""

    def __init__(self) -> None:
        self._ids = RequestIds()

    def begin(self, headers: Mapping[str, str], method: str, route_path: str) -> Observation:
        return NullObservation(self._ids.fresh())

    def policy_loaded(
        self,
        policy_hash: str,
        routes: Iterable[str],
        models: Iterable[str],
        experiments: Iterable[Experiment] = (),
        dialects: Mapping[str, str] = NO_DIALECTS,
        *,
        shadows: Iterable[str] = (),
        budgets: Iterable[str] = (),
    ) -> None:
        pass

    def policy_refused(self) -> None:
        pass

    def steered(self, route: str, choose: Choose, realised: float | None) -> None:
        pass

    def shadow_ended(self, shadow: str, result: str) -> None:
        pass

    def not_kept(self, count: int) -> None:
        pass

    def metrics_page(self, *, exemplars: bool = False) -> bytes:
        return b""

    def flush(self) -> None:
        pass

    async def aclose(self, within_s: float = 5.0) -> None:
        pass


class NullObservation:
    __slots__ = ("request_id",)

    def __init__(self, request_id: str = "") -> None:
        self.request_id = request_id or fresh_request_id()

    def decided(
        self, facts: Facts, decision: Decision, estimate: Estimate | None, decision_us: int | None = None
    ) -> None:
        pass

    def attempt(self, call: Call, number: int, predicted_tokens: int | None = None) -> AttemptObservation:
        return NullAttempt()

    def settle(self, settlement: Settlement) -> None:
        pass

    def shadow(self, shadow: str, call: Call) -> ShadowObservation:
        return NullShadow()


class NullShadow:
    __slots__ = ()

    @property
    def headers(self) -> Mapping[str, str]:
        return {}

    @property
    def trace_id(self) -> str:
        return ""

    def end(self, error_kind: str, usage: Usage | None, microusd: int) -> None:
        pass


class NullAttempt:
    __slots__ = ()

    @property
    def headers(self) -> Mapping[str, str]:
        return {}

    def first_content(self) -> None:
        pass

    def end(self, error_kind: str, usage: Usage | None) -> None:
        pass
