"""The four clocks of one attempt: to connect, to the first content, between two events, over all."""

import asyncio
from collections.abc import Awaitable
from math import inf
from types import TracebackType
from typing import Self, TypeVar

from backends.errors import Kind, UpstreamError
from backends.transport.alarms import LAST_LOOK_S, STRETCH_S, Alarms, Waits
from backends.upstream import TimeLimits

T = TypeVar("T")

Deadline = tuple[float, Kind]
"""An instant of the loop's clock, and how its passing is called."""


class Clocks:
    """Made when the attempt starts. The connect clock is the transport's: only it knows when a connection stands.

    `with clocks.until(deadline)` raises `UpstreamError` of the deadline's kind when it passes while the task waits inside.
    One at a time.

    `deadline()` is asked for once per event and then used for every read until that event came, so that comments
    between events do not push it. Time in which nobody waits for the upstream does not count as a gap, nor does time in
    which our own loop stood still. One timer serves the whole attempt: a deadline that was pushed is noticed when it rings,
    so waiting for an event sets none; with `alarms` it is theirs, shared with others, until the deadline is near. `stop()` it
    at the end.
    """

    __slots__ = (
        "_alarms",
        "_awaits_first",
        "_began_at",
        "_cancels",
        "_deadline",
        "_limits",
        "_loop",
        "_passed_at",
        "_rang",
        "_rings_at",
        "_timer",
        "_total_at",
        "_waiter",
        "together",
    )

    def __init__(self, limits: TimeLimits, *, streams: bool, alarms: Alarms | None = None) -> None:
        self._alarms = alarms
        self._loop = asyncio.get_running_loop() if alarms is None else alarms.loop
        self._began_at = self._loop.time()
        self._total_at = self._began_at + limits.total_s
        self._deadline: Deadline = (self._total_at, "total_timeout")
        self._limits = limits
        self._awaits_first = streams
        self._waiter: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.together: set[Waits] | None = None
        self._rings_at = self._passed_at = inf
        self._rang = False
        self._cancels = 0

    def spoke(self) -> None:
        """The first content has come."""
        self._awaits_first = False

    def deadline(self) -> Deadline:
        """When the next event must have come, and how its absence is called."""
        at, kind = self._next()
        return (at, kind) if at < self._total_at else (self._total_at, "total_timeout")

    def total(self) -> Deadline:
        return self._total_at, "total_timeout"

    def came(self) -> None:
        """An event came while somebody waits for all of them: the next one has its time from here on."""
        at = self._loop.time() + self._limits.gap_s
        self._deadline = (at, "gap_timeout") if at < self._total_at else (self._total_at, "total_timeout")

    async def wait(self, awaitable: Awaitable[T], deadline: Deadline) -> T:
        """`until`, for one thing."""
        with self.until(deadline):
            return await awaitable

    def until(self, deadline: Deadline) -> Self:
        self._deadline = deadline
        return self

    def __enter__(self) -> None:
        self._waiter = task = asyncio.current_task(self._loop)
        assert task is not None
        self._cancels = task.cancelling()
        if self._deadline[0] < self._rings_at:
            self._ring_at(self._deadline[0])

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        task, self._waiter = self._waiter, None
        if not self._rang or task is None:
            return
        self._rang = False
        task.uncancel()  # what the ring asked for is taken back
        if kind is asyncio.CancelledError and task.cancelling() <= self._cancels:
            raise UpstreamError(self._deadline[1], self._words(self._deadline[1]), sent=True) from None

    def stop(self) -> None:
        """Nobody waits any more."""
        if self.together is not None:
            self.together.discard(self)
            self.together = None
        elif self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._rings_at = inf

    def is_near(self) -> None:
        """The alarm's word."""
        self.together = None
        self._timer = self._loop.call_at(self._rings_at, self._ring)

    def _ring_at(self, at: float) -> None:
        if self._rings_at != inf:
            self.stop()
        now = self._loop.time()
        if self._alarms is not None and at - now > STRETCH_S:
            self._rings_at = at
            self._alarms.ring(self, at)
        else:
            self._timer, self._rings_at = self._loop.call_at(at, self._ring), max(at, now)

    def _ring(self) -> None:
        """Timers ring before sockets are read: who was late to ring has not read what came meanwhile."""
        now, (at, _) = self._loop.time(), self._deadline
        late_s = now - self._rings_at
        self._timer, self._rings_at = None, inf
        if self._waiter is None:
            return
        if now < at:
            self._ring_at(at)
        elif self._passed_at != at:
            self._passed_at = at
            self._ring_at(now + max(LAST_LOOK_S, late_s))
        else:
            self._rang = True
            self._waiter.cancel()

    def _next(self) -> Deadline:
        if self._awaits_first:
            return self._began_at + self._limits.first_content_s, "first_content_timeout"
        return self._loop.time() + self._limits.gap_s, "gap_timeout"

    def _words(self, kind: Kind) -> str:
        if kind == "first_content_timeout":
            return f"no content from the upstream within {self._limits.first_content_s:g} s"
        if kind == "gap_timeout":
            return f"the upstream fell silent for {self._limits.gap_s:g} s"
        return f"the upstream took longer than {self._limits.total_s:g} s in all"
