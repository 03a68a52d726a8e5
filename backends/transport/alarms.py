"""Limits of many attempts that lie far off: one timer for all of them, for nearly all are taken back before they ring."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf
from typing import Protocol

STRETCH_S = 16
"""Whoever has to ring in the same stretch of time waits in one set for its begin."""

LAST_LOOK_S = 0.001
"""A limit that has passed leaves time for one more look at what has come: timers ring before sockets are read, so who was late
to ring has not read what came meanwhile."""


class Waits(Protocol):
    """Who set an alarm. To take it back is to leave those that one waits `together` with."""

    together: "set[Waits] | None"

    def is_near(self) -> None:
        """It is less than a stretch until then: a timer of one's own is due."""
        ...


class Alarms:
    """Of one event loop. Instants are of its clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._stretches: dict[int, set[Waits]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._next: float = inf

    @property
    def waiting(self) -> int:
        """Those who set one that has not come near, and have not taken it back."""
        return sum(map(len, self._stretches.values()))

    def ring(self, who: Waits, at: float) -> None:
        """At an instant that is a stretch or more from now."""
        stretch = int(at) // STRETCH_S
        waiting = self._stretches.get(stretch)
        if waiting is None:
            waiting = self._stretches[stretch] = set()
            if stretch < self._next:
                self._wait_for(stretch)
        waiting.add(who)
        who.together = waiting

    def _wait_for(self, stretch: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._next = self.loop.call_at(stretch * STRETCH_S, self._ring), stretch

    def _ring(self) -> None:
        near = self._stretches.pop(int(self._next))
        self._timer, self._next = None, inf
        if self._stretches:
            self._wait_for(min(self._stretches))
        for who in near:
            who.is_near()


class Near:
    """An instant that comes soon: `passed` is called when it has passed and a last look brought nothing."""

    __slots__ = ("_at", "_loop", "_passed", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, at: float, passed: Callable[[], None]) -> None:
        self._loop = loop
        self._at = at
        self._passed = passed
        self._timer = loop.call_at(at, self._look)

    def cancel(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        self._timer = self._loop.call_at(now + max(LAST_LOOK_S, now - self._at), self._passed)


@asynccontextmanager
async def until(at: float) -> AsyncIterator[None]:
    """As `asyncio.timeout_at`, with a last look: time in which our own loop stood still is nobody's fault."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        near = Near(loop, at, lambda: limit.reschedule(loop.time()))
        try:
            yield
        finally:
            near.cancel()
