"""Which traces are kept: what tells an operator something always, of the others a share.

The share is drawn as OpenTelemetry's consistent probability sampling does: a trace is taken where the last 56 bits of its id
reach a threshold. The threshold stands in the tracestate of every kept span (`ot=th:...`),
so whoever counts spans knows for how many each one stands: 1 / (1 - threshold / 2**56), and 1 for what is always kept.
"""

from collections.abc import Collection

from opentelemetry.trace import TraceState

from gateway.request.settlement import Settlement
from gateway.telemetry.traces.context import with_threshold
from gateway.telemetry.words import Kept
from policies.decision import Decision

EVERY = 1 << 56

FIRST_OF_VARIANT = 100
"""Requests of each variant that are always kept."""

MOST_VARIANTS = 1_000
"""Variants whose first requests are told from the others."""

WELL = frozenset({"", "cancelled"})
OF_THE_CLIENT = WELL | {"rejected", "too_long", "unsupported"}
"""Ends of an attempt that may be no failure of whoever was asked."""


def threshold_of(share: float) -> int:
    """
    >>> f"{threshold_of(0.01):014x}", threshold_of(1.0), threshold_of(0.0) == EVERY
    ('fd70a3d70a3d70', 0, True)
    """
    return round((1.0 - share) * EVERY)


def written(threshold: int) -> str:
    """
    >>> written(threshold_of(0.25)), written(0)
    ('c', '0')
    """
    return f"{threshold:014x}".rstrip("0") or "0"


def is_our_error(settlement: Settlement) -> bool:
    """A server span is in error when the server failed, not when the client asked badly (HTTP conventions)."""
    return settlement.status >= 500 or (settlement.end == "error" and settlement.status < 400)


class Sampling:
    """`share` of what is not always kept; `slow_s` until the first content is slow. Raises ValueError for no share."""

    def __init__(self, share: float, slow_s: float) -> None:
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"sampled is {share}, but a share of traces lies between 0 and 1")
        self._threshold = threshold_of(share)
        self._slow_ms = slow_s * 1_000
        self._seen: dict[tuple[str, str], int] = {}
        self.written = written(self._threshold) if share else "0"
        self.told = f"ot=th:{self.written}"

    def takes(self, trace_id: int) -> bool:
        """Whether the share has it."""
        return trace_id % EVERY >= self._threshold

    def why_kept(self, settlement: Settlement, ends: Collection[str], *, taken: bool, called: bool) -> Kept | None:
        """The first reason there is, None to drop it. `ends` are those of its attempts, of which one that went wrong is enough;
        but a client that asks badly can have no trace kept by that. `taken`: the share has it, or where it was `called` its
        caller."""
        decision = settlement.decision
        is_heard = settlement.ttft_ms is not None or settlement.end != "error"
        well = WELL if settlement.status < 400 and is_heard else OF_THE_CLIENT
        is_wrong = settlement.status >= 500 or settlement.end == "error"
        if (is_wrong and is_our_error(settlement)) or not well.issuperset(ends):
            return "failed"
        if settlement.judgement in ("escalated", "turned_back"):
            return "escalated"
        if settlement.hedged is not None:
            return "hedged"
        if (settlement.duration_ms if settlement.ttft_ms is None else settlement.ttft_ms) > self._slow_ms:
            return "slow"
        if decision is not None and decision.instead_of:
            return "explored"
        if decision is not None and decision.assignments and self._is_new(decision):
            return "variant"
        return ("caller" if called else "share") if taken else None

    def state_of(self, kept: Kept, state: TraceState) -> TraceState:
        """The tracestate that tells for how many a kept trace stands."""
        if kept == "caller":
            return state
        return with_threshold(state, self.written if kept == "share" else "0")

    def _is_new(self, decision: Decision) -> bool:
        """Counts it, too. Where an experiment is over nobody is drawn, and nothing is new."""
        new = False
        for found in [one for one in decision.assignments if one.unit]:
            key = found.experiment, found.variant
            seen = self._seen.get(key, FIRST_OF_VARIANT if len(self._seen) >= MOST_VARIANTS else 0)
            if seen < FIRST_OF_VARIANT:
                self._seen[key], new = seen + 1, True
        return new
