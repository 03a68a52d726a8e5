"""The connections to one origin: a bounded number, the most recently used one first."""

import asyncio
import contextlib
import ssl
from collections import deque

import msgspec

from backends.transport.alarms import until
from backends.transport.connection import Connection, connect
from backends.transport.exchange import Bounds
from backends.transport.heads import Heads
from backends.transport.interface import Origin, TransportError


class PoolLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Connections for each origin, and how long an idle one is kept.

    Four seconds is below the five after which uvicorn and Node close an idle connection: whoever closes first should
    be the one who knows that nothing is in flight.
    """

    connections: int = 1024
    idle_s: float = 4.0


class Pool:
    """`tls` is for https. `in_use` counts the connections that carry an exchange."""

    def __init__(self, origin: Origin, tls: ssl.SSLContext | None, limits: PoolLimits, bounds: Bounds) -> None:
        self._origin = origin
        self._tls = tls
        self._size, self._idle_s = limits.connections, limits.idle_s
        self._bounds = bounds
        self._heads = Heads()
        self._idle: deque[Connection] = deque()
        self._open: set[Connection] = set()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self.in_use = 0

    def reuse(self, now: float) -> Connection | None:
        """One that was used before, if there is one: taken, as `take` takes one."""
        if not self._idle or self.in_use >= self._size:
            return None
        while self._idle:
            connection = self._idle.pop()
            if now - connection.idle_since <= self._idle_s and connection.is_quiet(now):
                self.in_use += 1
                return connection
            connection.abort()
        return None

    async def take(self, within_s: float) -> tuple[Connection, bool]:
        """A connection, and whether it was used before, in so many seconds from here on, whatever they are waited for. Raises
        `TransportError`, nothing sent."""
        deadline, has_waited = self.now() + within_s, False
        while self.in_use >= self._size:
            if has_waited and self.now() >= deadline:
                raise self._busy()  # a last look is one
            has_waited = True
            await self._slot(deadline)
        used = self.reuse(self.now())
        if used is not None:
            return used, True
        self.in_use += 1
        try:
            fresh = await connect(
                self._origin, self._tls, deadline - self.now() if has_waited else within_s, self._make
            )
        except BaseException as error:
            self.in_use -= 1
            self._wake()
            if has_waited and isinstance(error, TransportError) and self.now() >= deadline:
                raise self._busy() from error  # who had little time left says nothing of the peer
            raise
        self._open.add(fresh)
        return fresh, False

    def release(self, connection: Connection, *, keep: bool) -> None:
        """Give back what was taken, exactly once."""
        now = self.now()
        if keep and not connection.closed:
            connection.idle_since = now
            self._idle.append(connection)
        else:
            connection.abort()
        self.in_use -= 1
        if self._waiters:
            self._wake()
        while self._idle and now - self._idle[0].idle_since > self._idle_s:
            self._idle.popleft().abort()

    def lost(self, connection: Connection) -> None:
        """The socket is gone; when it was idle, it must not be handed out."""
        self._open.discard(connection)
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)

    def close(self) -> None:
        for connection in list(self._open):
            connection.abort()

    def _make(self) -> Connection:
        return Connection(self._bounds, self, self._loop, self._heads)

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _slot(self, deadline: float) -> None:
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            async with until(deadline):
                await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled():
                self._wake()
            if isinstance(error, TimeoutError):
                raise self._busy() from error
            raise

    def _busy(self) -> TransportError:
        return TransportError("busy", f"all {self._size} connections to the upstream are in use", sent=False)
