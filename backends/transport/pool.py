"""The connections to one origin: a bounded number, the most recently used one first."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable

from backends.transport.connection import Connection
from backends.transport.interface import TransportError


class Pool:
    """`connect` makes a connection within the seconds given. At most `size` exist; an idle one is kept `idle_s`."""

    def __init__(self, connect: Callable[[float, "Pool"], Awaitable[Connection]], size: int, idle_s: float) -> None:
        self._connect = connect
        self._size = size
        self._idle_s = idle_s
        self._idle: deque[Connection] = deque()
        self._taken = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._loop = asyncio.get_running_loop()

    @property
    def in_use(self) -> int:
        return self._taken

    async def acquire(self, within_s: float) -> tuple[Connection, bool]:
        """A connection, and whether it was used before. Raises `TransportError`, nothing sent."""
        deadline = self._loop.time() + within_s
        while self._taken >= self._size:
            await self._slot(deadline)
        self._taken += 1
        try:
            idle = self._reusable()
            return (idle, True) if idle is not None else (await self._connect(within_s, self), False)
        except BaseException:
            self._leave()
            raise

    def release(self, connection: Connection, *, keep: bool) -> None:
        """Give back what `acquire` gave, exactly once."""
        exchange, connection.exchange = connection.exchange, None
        if exchange is not None:
            exchange.let_go()
        if keep and not connection.closed:
            connection.idle_since = self._loop.time()
            self._idle.append(connection)
        else:
            connection.abort()
        self._leave()
        self._prune()

    def forget(self, connection: Connection) -> None:
        """The socket is gone; when it was idle, it must not be handed out."""
        with contextlib.suppress(ValueError):
            self._idle.remove(connection)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().abort()

    def _reusable(self) -> Connection | None:
        oldest = self._loop.time() - self._idle_s
        while self._idle:
            connection = self._idle.pop()
            if connection.idle_since >= oldest and connection.is_quiet():
                return connection
            connection.abort()
        return None

    def _prune(self) -> None:
        oldest = self._loop.time() - self._idle_s
        while self._idle and self._idle[0].idle_since < oldest:
            self._idle.popleft().abort()

    def _leave(self) -> None:
        self._taken -= 1
        self._wake()

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
            async with asyncio.timeout_at(deadline):
                await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled():
                self._wake()
            if isinstance(error, TimeoutError):
                message = f"all {self._size} connections to the upstream are in use"
                raise TransportError("busy", message, sent=False) from error
            raise
