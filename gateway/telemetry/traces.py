"""What the traces of one process have in common: whose go on here, which are kept, where they go."""

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanContext, TraceState

from gateway.telemetry.context import Onward
from gateway.telemetry.sampling import Sampling

if TYPE_CHECKING:
    from gateway.telemetry.seen import RequestSeen
    from gateway.telemetry.shadows import ShadowTrace

MOST_ATTEMPTS = 32
"""Attempts of one request that get a span; `router.attempts` counts all."""

NO_STATE = TraceState()


class Tracing:
    """`trusts`: a caller's trace is continued, and it says whether that one is kept; else it is linked to. `dialects` are those
    of the models' servers, by model. What is kept goes to `deliver`, None where traces are off."""

    def __init__(
        self, deliver: "Callable[[RequestSeen | ShadowTrace], None] | None", sampling: Sampling, *, trusts: bool
    ) -> None:
        self.deliver = deliver
        self.sampling = sampling
        self.dialects: Mapping[str, str] = {}
        self.trusts = trusts

    def onward(self, caller: SpanContext | None) -> Onward | None:
        """How the trace of a request goes on at upstreams, where its `caller` is trusted; None where there is none."""
        if self.deliver is None:
            return passed(caller) if caller is not None else None
        if caller is not None:
            return Onward(caller.trace_id, caller.trace_state.to_header(), caller.trace_flags.sampled)
        fresh = random.getrandbits(128) or 1
        is_taken = self.sampling.takes(fresh)
        return Onward(fresh, self.sampling.told if is_taken else "", is_taken)


def passed(caller: SpanContext) -> Onward:
    """Traces are off: the caller's context goes on as it came."""
    state = caller.trace_state.to_header()
    return Onward(caller.trace_id, state, caller.trace_flags.sampled, caller.span_id)
