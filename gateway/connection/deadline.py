"""One timer for whatever a connection waits for next."""

import asyncio
import math
from collections.abc import Callable

NEVER = math.inf


class Deadline:
    """Calls `late` once when it is over. Moving it back or taking it away (NEVER is `due`) is an assignment: the timer rings at
    an earlier moment, finds that nothing is due yet, and is set again. A connection moves it with every request."""

    __slots__ = ("_late", "_loop", "_rings_at", "_timer", "due")

    def __init__(self, loop: asyncio.AbstractEventLoop, late: Callable[[], None]) -> None:
        self._loop = loop
        self._late: Callable[[], None] | None = late
        self._timer: asyncio.TimerHandle | None = None
        self.due = self._rings_at = NEVER

    def within(self, seconds: float) -> None:
        if self._late is None:
            return
        self.due = self._loop.time() + seconds
        if self.due < self._rings_at:
            self._ring_at(self.due)

    def close(self) -> None:
        """For good."""
        self.due, self._late = NEVER, None
        if self._timer is not None:
            self._timer.cancel()

    def _ring_at(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = moment
        self._timer = self._loop.call_at(moment, self._ring)

    def _ring(self) -> None:
        self._timer, self._rings_at = None, NEVER
        if self.due > self._loop.time():
            if self.due != NEVER:
                self._ring_at(self.due)
        elif self._late is not None:
            self.due = NEVER
            self._late()
