"""The Observer that sees nothing, where traces, metrics and log are off; and requests that nobody is to see."""

from collections.abc import Iterable, Mapping

from backends.messages import Usage
from gateway.request.settlement import Settlement
from gateway.telemetry.observe import NO_DIALECTS, AttemptObservation, Observation, ShadowObservation
from gateway.telemetry.request_ids import RequestIds, fresh_request_id
from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.experiments.plan import Experiment
from policies.facts import Facts
from policies.policy import Choose


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
