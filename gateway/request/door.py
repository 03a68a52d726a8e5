"""How many may be inside, and whether anyone may still come in."""

import asyncio

from gateway.errors import Busy, Draining


class Door:
    """Counts requests from admission to settlement. `drain()` closes it for good; `empty()` waits for the last one."""

    def __init__(self, max_in_flight: int) -> None:
        self._max = max_in_flight
        self._closed = asyncio.Event()
        self._empty = asyncio.Event()
        self.is_draining = False
        self.in_flight = 0

    def enter(self) -> None:
        """Raises Draining, Busy. Whoever is let in must `leave()`."""
        if self.is_draining:
            raise Draining("This process is stopping.", headers={"connection": "close"})
        if self.in_flight >= self._max:
            raise Busy(f"{self._max} requests are in flight, the most this process takes.")
        self.in_flight += 1

    def leave(self) -> None:
        self.in_flight -= 1
        if self.is_draining and self.in_flight == 0:
            self._empty.set()

    def drain(self) -> None:
        self.is_draining = True
        self._closed.set()
        if self.in_flight == 0:
            self._empty.set()

    async def closed(self) -> None:
        """Wait until `drain()` is called."""
        await self._closed.wait()

    async def empty(self) -> None:
        await self._empty.wait()
