"""Telemetry as the request path sees it: one Observer for the process, one Observation for each request.

Observing returns at once and never raises: what cannot be delivered is dropped and counted.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from backends.messages import Usage
from gateway.request.settlement import Settlement
from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.experiments.plan import Experiment
from policies.facts import Facts
from policies.policy import Choose

NO_DIALECTS: Mapping[str, str] = {}


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
