"""How far a replica is trusted: it is left alone for a while when it fails, and given work by degrees when it comes back."""

from collections.abc import Callable
from math import ceil
from statistics import fmean
from typing import Literal

import msgspec

from policies.snapshot import ReplicaState

FAILURES_IN_A_ROW = 3
"""After so many a replica is left alone; at once when nobody listens there."""

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
"""How long; doubled each time that it fails again before it has answered anything."""

WARM_UP_S = 10.0
"""In which a replica that came back reaches its full share."""

LEAST_SHARE = 0.1

LONGEST_WAIT_S = 60.0
"""That a replica may ask for: what it says of itself is believed, but not for ever."""

Fault = Literal["absent", "failing", "full"]


class Trust:
    """Of one replica, from what became of our own calls to it. `clock` counts seconds and never goes back. `is_at_ease`:
    nothing has happened to it of late, so it is left alone for nothing and gets its full share."""

    __slots__ = ("_clock", "_failures", "_fault", "_pause_s", "_until", "_warm_from", "_was_ready", "is_at_ease")

    def __init__(self, clock: Callable[[], float], is_new: bool = False) -> None:
        self._clock = clock
        self._failures = 0
        self._fault: Fault = "failing"
        self._pause_s = FIRST_PAUSE_S
        self._until = 0.0
        self._warm_from: float | None = clock() if is_new else None
        self._was_ready = True
        self.is_at_ease = not is_new

    def failed(self, fault: Fault) -> None:
        self._failures = FAILURES_IN_A_ROW if fault == "absent" else self._failures + 1
        if self._failures < FAILURES_IN_A_ROW or self.why_out():
            return
        self._fault, self._until, self.is_at_ease = fault, self._clock() + self._pause_s, False
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def full(self, wait_s: float) -> None:
        """It said itself for how long it is not to be asked."""
        until = self._clock() + min(wait_s, LONGEST_WAIT_S)
        if until > self._until:
            self._fault, self._until, self.is_at_ease = "full", until, False

    def answered(self) -> None:
        """Takes back what failures said, not what the replica did: this answer began before."""
        self._failures, self._pause_s = 0, FIRST_PAUSE_S
        if self._until and self._fault != "full":
            self._warm_from, self._until, self.is_at_ease = self._clock(), 0.0, False

    def why_out(self) -> str:
        """Why it is left alone at this moment, or ""."""
        left_s = self._until - self._clock() if self._until else 0.0
        if left_s <= 0:
            return ""
        return f"{self._what()}; left alone for {ceil(left_s)} s"

    def _what(self) -> str:
        if self._fault == "full":
            return "it said that it is at its limit"
        return "nobody listens there" if self._fault == "absent" else f"it failed {self._failures} times in a row"

    def share(self, is_ready: bool) -> float:
        """Of the work that it would get by its load alone; rises to 1 from the moment at which it was ready again."""
        if is_ready and not self._was_ready:
            self._warm_from = self._clock()
        self._was_ready = is_ready
        share = 1.0 if self._warm_from is None else LEAST_SHARE + (self._clock() - self._warm_from) / WARM_UP_S
        if share >= 1.0:
            self._warm_from = None
        self.is_at_ease = is_ready and share >= 1.0 and self._until <= self._clock()
        return min(share, 1.0)


def eased(states: tuple[ReplicaState, ...], shares: tuple[float, ...]) -> tuple[ReplicaState, ...]:
    """A replica of which only a share is wanted seems to have the rest of the others' mean load already.

    >>> [s.running for s in eased((ReplicaState(replica="a", running=8), ReplicaState(replica="b")), (1.0, 0.25))]
    [8, 6]
    """
    if shares.count(1.0) == len(shares):
        return states
    warm = [s for s, share in zip(states, shares, strict=True) if share == 1.0 and s.ready and not s.rests]
    if not warm:
        return states
    running, queued = fmean(state.running for state in warm), fmean(state.queued_tokens for state in warm)
    return tuple(
        state
        if share == 1.0
        else msgspec.structs.replace(
            state,
            running=state.running + ceil((1 - share) * running),
            queued_tokens=state.queued_tokens + ceil((1 - share) * queued),
        )
        for state, share in zip(states, shares, strict=True)
    )
