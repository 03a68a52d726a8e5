"""One timer for whatever a connection waits for next."""

import asyncio
import math
from collections.abc import Callable

NEVER = math.inf


class Deadline:
    """Calls `late` once when it is over. Moving it back or taking it away is an assignment: the timer rings at an earlier
    moment, finds that nothing is due yet, and is set again. A connection moves it with every request."""

    __slots__ = ("_due", "_late", "_loop", "_rings_at", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, late: Callable[[], None]) -> None:
        self._loop = loop
        self._late: Callable[[], None] | None = late
        self._timer: asyncio.TimerHandle | None = None
        self._due = self._rings_at = NEVER

    @property
    def is_set(self) -> bool:
        return self._due != NEVER

    def within(self, seconds: float) -> None:
        if self._late is None:
            return
        self._due = self._loop.time() + seconds
        if self._due < self._rings_at:
            self._ring_at(self._due)

    def off(self) -> None:
        self._due = NEVER

    def close(self) -> None:
        """For good."""
        self._due, self._late = NEVER, None
        if self._timer is not None:
            self._timer.cancel()

    def _ring_at(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = moment
        self._timer = self._loop.call_at(moment, self._ring)

    def _ring(self) -> None:
        self._timer, self._rings_at = None, NEVER
        if self._due > self._loop.time():
            if self.is_set:
                self._ring_at(self._due)
        elif self._late is not None:
            self._due = NEVER
            self._late()
