"""When to stop asking a shared store, and when to try it again."""

import math
from collections.abc import Callable

FAILURES_TO_OPEN = 3
FIRST_PAUSE_S = 0.125
LONGEST_PAUSE_S = 8.0


class Circuit:
    """Closed: ask. Open: don't, but let one probe through after each pause; pauses double while probes fail.

    Failures less than `apart_s` after one that was counted are the same hiccup, seen by several requests.
    `clock` counts seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float], apart_s: float) -> None:
        self._clock = clock
        self._apart_s = apart_s
        self._failures = 0
        self._counted_at = -math.inf
        self._pause_s = FIRST_PAUSE_S
        self._probe_at: float | None = None
        self._probing = False

    @property
    def is_closed(self) -> bool:
        return self._probe_at is None

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self) -> None:
        if self._clock() - self._counted_at < self._apart_s:
            return
        self._counted_at = self._clock()
        self._failures += 1
        if self._failures >= FAILURES_TO_OPEN:
            self.open()

    def open(self) -> None:
        """Ask no more; the first probe is due after a short pause. Nothing when open already."""
        if self._probe_at is None:
            self._pause_s = FIRST_PAUSE_S
            self._probe_at = self._clock() + self._pause_s

    def take_probe(self) -> bool:
        """Whether the caller shall probe now. True for one caller until it reports `probe_ended`."""
        if self._probing or self._probe_at is None or self._clock() < self._probe_at:
            return False
        self._probing = True
        return True

    def probe_ended(self, well: bool) -> None:
        self._probing = False
        if well:
            self._failures, self._probe_at = 0, None
        else:
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
            self._probe_at = self._clock() + self._pause_s
