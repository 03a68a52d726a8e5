"""What the traces of one process have in common: whose go on here, which are kept, where they go."""

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanContext, TraceState

from gateway.telemetry.traces.sampling import Sampling

if TYPE_CHECKING:
    from gateway.telemetry.seen import RequestSeen
    from gateway.telemetry.shadows import ShadowTrace

MOST_ATTEMPTS = 32
"""Attempts of one request that get a span; `router.attempts` counts all."""

NO_STATE = TraceState()

Begun = tuple[int, str, bool, int]
"""The number of a trace, 0 where there is none; the tracestate and the choice that upstreams hear; and the span that they go on
under, 0 where it is that of each attempt."""

NO_TRACE: Begun = (0, "", False, 0)


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

    def begun(self, caller: SpanContext | None) -> Begun:
        """The trace of a request, where its `caller` is trusted. Where traces are off a caller's goes on as it came."""
        if caller is not None:
            passed = caller.span_id if self.deliver is None else 0
            return caller.trace_id, caller.trace_state.to_header(), caller.trace_flags.sampled, passed
        if self.deliver is None:
            return NO_TRACE
        fresh, sampling = random.getrandbits(128) or 1, self.sampling
        if sampling.takes(fresh):
            return fresh, sampling.told, True, 0
        return fresh, "", False, 0
