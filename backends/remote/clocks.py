"""The four clocks of one attempt: to connect, to the first content, between two events, over all."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from backends.errors import Kind, UpstreamError
from backends.upstream import TimeLimits

T = TypeVar("T")

Deadline = tuple[float, Kind]
"""An instant of the loop's clock, and how its passing is called."""


class Clocks:
    """Made when the attempt starts. The connect clock is the transport's: only it knows when a connection stands.

    `deadline()` is asked for once per event and then used for every read until that event came, so that comments
    between events do not push it. Time in which nobody waits for the upstream does not count as a gap.
    """

    def __init__(self, limits: TimeLimits, *, streams: bool) -> None:
        self._loop = asyncio.get_running_loop()
        started = self._loop.time()
        self._limits = limits
        self._total_at = started + limits.total_s
        self._first_at = started + limits.first_content_s
        self._awaits_first = streams

    def spoke(self) -> None:
        """The first content has come."""
        self._awaits_first = False

    def deadline(self) -> Deadline:
        """When the next event must have come, and how its absence is called."""
        at, kind = self._next()
        return (at, kind) if at < self._total_at else (self._total_at, "total_timeout")

    def total(self) -> Deadline:
        return self._total_at, "total_timeout"

    async def wait(self, awaitable: Awaitable[T], deadline: Deadline) -> T:
        """Raises `UpstreamError` of the deadline's kind."""
        try:
            async with asyncio.timeout_at(deadline[0]):
                return await awaitable
        except TimeoutError:
            raise UpstreamError(deadline[1], self._words(deadline[1]), sent=True) from None

    def _next(self) -> Deadline:
        if self._awaits_first:
            return self._first_at, "first_content_timeout"
        return self._loop.time() + self._limits.gap_s, "gap_timeout"

    def _words(self, kind: Kind) -> str:
        if kind == "first_content_timeout":
            return f"no content from the upstream within {self._limits.first_content_s:g} s"
        if kind == "gap_timeout":
            return f"the upstream fell silent for {self._limits.gap_s:g} s"
        return f"the upstream took longer than {self._limits.total_s:g} s in all"
