"""The Observer that sees: hands each happening to the trace, the metrics and the log."""

from collections.abc import Callable, Iterable, Mapping

from gateway.telemetry.gather import Gathered
from gateway.telemetry.logs import RequestLog
from gateway.telemetry.metrics.metrics import Metrics
from gateway.telemetry.observe import NO_DIALECTS
from gateway.telemetry.request_ids import RequestIds
from gateway.telemetry.seen import RequestSeen, Sinks
from gateway.telemetry.traces.baggage import Baggage
from gateway.telemetry.traces.context import TRACEPARENT, caller_of
from gateway.telemetry.traces.delivery import Delivery
from gateway.telemetry.traces.tracing import Tracing
from policies.experiments.plan import Experiment
from policies.policy import Choose


class LiveObserver:
    def __init__(
        self,
        *,
        delivery: Delivery | None,
        tracing: Tracing,
        baggage: Baggage,
        metrics: Metrics,
        shows_metrics: bool,
        log: RequestLog | None,
        clock: Callable[[], float],
    ) -> None:
        lines = None if log is None else Gathered(log, lambda count: metrics.dropped("log", count))
        self._sinks = Sinks(tracing, baggage, metrics, lines, clock)
        self._delivery = delivery
        self._metrics = metrics
        self._shows_metrics = shows_metrics
        self._ids = RequestIds()

    def begin(self, headers: Mapping[str, str], method: str, route_path: str) -> RequestSeen:
        self._metrics.in_flight.value += 1
        caller = caller_of(headers) if TRACEPARENT in headers else None
        return RequestSeen(self._sinks, self._ids.fresh(), method, route_path, caller)

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
        self._sinks.tracing.dialects = dialects
        self._metrics.policy_loaded(policy_hash, routes, models, experiments, shadows=shadows, budgets=budgets)

    def policy_refused(self) -> None:
        self._metrics.policy_refused()

    def steered(self, route: str, choose: Choose, realised: float | None) -> None:
        self._metrics.steered(route, choose, realised)

    def shadow_ended(self, shadow: str, result: str) -> None:
        self._metrics.shadow_ended(shadow, result)

    def not_kept(self, count: int) -> None:
        self._metrics.dropped("decision", count)

    def metrics_page(self, *, exemplars: bool = False) -> bytes:
        return self._metrics.page(exemplars=exemplars) if self._shows_metrics else b""

    def flush(self) -> None:
        if self._sinks.log is not None:
            self._sinks.log.flush()

    async def aclose(self, within_s: float = 5.0) -> None:
        if self._sinks.log is not None:
            self._sinks.log.close()
        if self._delivery is not None:
            await self._delivery.aclose(within_s)
