"""The Observer that sees: hands each happening to the trace, the metrics and the log."""

from collections.abc import Callable, Iterable, Mapping

from backends.messages import Usage
from gateway.request.settlement import Settlement
from gateway.telemetry.baggage import BAGGAGE, Baggage
from gateway.telemetry.delivery import Delivery
from gateway.telemetry.logs import RequestLog
from gateway.telemetry.metrics import Metrics
from gateway.telemetry.observe import NO_DIALECTS, fresh_request_id
from gateway.telemetry.shadows import LiveShadow
from gateway.telemetry.traces import AttemptSeen, Trace, Tracing
from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.experiments.plan import Assignment, Experiment
from policies.facts import Facts
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
        self._delivery = delivery
        self._tracing = tracing
        self._baggage = baggage
        self._metrics = metrics
        self._shows_metrics = shows_metrics
        self._log = log
        self._clock = clock

    def begin(self, headers: Mapping[str, str], method: str, route_path: str) -> "LiveObservation":
        request_id = fresh_request_id()
        self._metrics.arrived()
        trace = self._tracing.begin(headers, method, route_path, request_id)
        return LiveObservation(request_id, trace, self._baggage, self._metrics, self._log, self._clock)

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
        self._tracing.dialects = dialects
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

    async def aclose(self, within_s: float = 5.0) -> None:
        if self._delivery is not None:
            await self._delivery.aclose(within_s)


class LiveObservation:
    __slots__ = (
        "_assignments", "_attempts", "_baggage", "_clock", "_log", "_metrics", "_settled", "_trace", "request_id",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917  what it hands its happenings to
        self,
        request_id: str,
        trace: Trace,
        baggage: Baggage,
        metrics: Metrics,
        log: RequestLog | None,
        clock: Callable[[], float],
    ) -> None:
        self.request_id = request_id
        self._trace = trace
        self._baggage = baggage
        self._metrics = metrics
        self._log = log
        self._clock = clock
        self._assignments: tuple[Assignment, ...] = ()
        self._attempts: list[LiveAttempt] = []
        self._settled = False

    def decided(
        self, facts: Facts, decision: Decision, estimate: Estimate | None, decision_us: int | None = None
    ) -> None:
        self._assignments = decision.assignments
        self._trace.decided(facts, decision, estimate, decision_us)
        self._metrics.decided(decision_us, _estimated(estimate))

    def attempt(self, call: Call, number: int, predicted_tokens: int | None = None) -> "LiveAttempt":
        trace = self._trace.attempt(call, number, predicted_tokens)
        baggage = self._baggage.toward(call.replica, self._assignments)
        attempt = LiveAttempt(trace, call, baggage, predicted_tokens, self._metrics, self._clock)
        self._attempts.append(attempt)
        return attempt

    def settle(self, settlement: Settlement) -> None:
        """An attempt that nobody ended was given up with the request."""
        if self._settled:
            return
        self._settled = True
        for attempt in self._attempts:
            attempt.end("cancelled", None)
        kept = self._trace.settle(settlement)
        self._metrics.settled(settlement, self._trace.trace_id if kept else "")
        self._write(settlement)

    def shadow(self, shadow: str, call: Call) -> LiveShadow:
        return LiveShadow(shadow, self._trace.shadow(shadow, call), self._metrics, self._clock)

    def _write(self, settlement: Settlement) -> None:
        if self._log is None:
            return
        try:
            self._log.settled(settlement, self._trace.trace_id)
        except (OSError, ValueError):  # the log's reader is gone; the request is not to suffer for it
            self._metrics.dropped("log", 1)


class LiveAttempt:
    __slots__ = (
        "_baggage", "_call", "_clock", "_ended", "_first_content_s", "_metrics", "_predicted_tokens", "_started_at",
        "_trace",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917  what it hands its happenings to
        self,
        trace: AttemptSeen,
        call: Call,
        baggage: str,
        predicted_tokens: int | None,
        metrics: Metrics,
        clock: Callable[[], float],
    ) -> None:
        self._trace = trace
        self._call = call
        self._baggage = baggage
        self._first_content_s: float | None = None
        self._predicted_tokens = predicted_tokens
        self._metrics = metrics
        self._clock = clock
        self._started_at = clock()
        self._ended = False

    @property
    def headers(self) -> Mapping[str, str]:
        headers = self._trace.headers()
        return {**headers, BAGGAGE: self._baggage} if self._baggage else headers

    def first_content(self) -> None:
        self._first_content_s = self._clock() - self._started_at
        self._trace.first_content(self._first_content_s)

    def end(self, error_kind: str, usage: Usage | None) -> None:
        if self._ended:
            return
        self._ended = True
        self._trace.end(error_kind, usage)
        took_s = self._clock() - self._started_at
        told = (self._call, took_s, error_kind, usage, self._predicted_tokens)
        self._metrics.attempted(*told, self._first_content_s)


def _estimated(estimate: Estimate | None) -> str | None:
    if estimate is None:
        return None
    return "abstained" if estimate.abstains else "answered"
