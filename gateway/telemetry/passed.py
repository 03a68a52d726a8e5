"""Where traces are off: a caller's context goes to the upstreams as it came."""

from opentelemetry.trace import SpanContext

from backends.messages import Usage
from gateway.request.settlement import Settlement
from gateway.telemetry import context
from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.facts import Facts


class PassedOn:
    """No trace of ours: the caller's context goes to the upstreams as it came."""

    __slots__ = ("_caller",)

    def __init__(self, caller: SpanContext | None) -> None:
        self._caller = caller

    @property
    def trace_id(self) -> str:
        return f"{self._caller.trace_id:032x}" if self._caller is not None else ""

    def decided(self, facts: Facts, decision: Decision, estimate: Estimate | None, decision_us: int | None) -> None:
        pass

    def attempt(self, call: Call, number: int, predicted_tokens: int | None) -> "PassedOn":
        return self

    def headers(self) -> dict[str, str]:
        caller = self._caller
        if caller is None:
            return {}
        state = caller.trace_state.to_header()
        return context.told(caller.trace_id, caller.span_id, state, sampled=caller.trace_flags.sampled)

    def first_content(self, after_s: float) -> None:
        pass

    def end(self, error_kind: str, usage: Usage | None) -> None:
        pass

    def settle(self, settlement: Settlement) -> bool:
        return False

    def shadow(self, shadow: str, call: Call) -> None:
        """A caller's trace is none of the shadow's."""
