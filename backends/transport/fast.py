"""The transport of the hot path: HTTP/1.1 straight on asyncio, with httptools as its parser."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from backends.transport.connection import Connection, connect
from backends.transport.exchange import Bounds, Exchange
from backends.transport.interface import HttpRequest, Into, Origin, TransportError
from backends.transport.pool import Pool


class PoolLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Connections for each origin, and how long an idle one is kept.

    Four seconds is below the five after which uvicorn and Node close an idle connection: whoever closes first should
    be the one who knows that nothing is in flight. `linger_s` is how long the end of a body that is known to be whole
    is awaited.
    """

    connections: int = 1024
    idle_s: float = 4.0
    linger_s: float = 1.0


class FastResponse:
    """A response on one of our own connections."""

    def __init__(self, exchange: Exchange, connection: Connection, pool: Pool, linger_s: float) -> None:
        self._exchange = exchange
        self._connection = connection
        self._pool = pool
        self._linger_s = linger_s
        self._released = False
        self._lingering: asyncio.TimerHandle | None = None

    @property
    def status(self) -> int:
        return self._exchange.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._exchange.headers

    async def read(self) -> bytes:
        return await self._exchange.read()

    async def pour(self, into: Into) -> None:
        await self._exchange.pour(into)

    async def aclose(self, *, whole: bool = False) -> None:
        if self._released or self._lingering is not None:
            return
        if whole and not self._exchange.over:
            self._lingering = asyncio.get_running_loop().call_later(self._linger_s, self._release)
            self._exchange.discard(self._release)
        else:
            self._release()

    def _release(self) -> None:
        if self._released:
            return
        self._released = True
        if self._lingering is not None:
            self._lingering.cancel()
        self._pool.release(self._connection, keep=self._exchange.done and self._exchange.reusable)


class FastTransport:
    """Keeps connections by origin. `tls` None means the system's certificates."""

    def __init__(
        self, limits: PoolLimits | None = None, bounds: Bounds | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._limits = limits or PoolLimits()
        self._bounds = bounds or Bounds()
        self._tls = tls
        self._pools: dict[Origin, Pool] = {}
        self._connections: set[Connection] = set()

    async def open(self, request: HttpRequest, connect_s: float) -> FastResponse:
        wire = serialise(request)
        pool = self._pool(request.origin)
        while True:
            connection, reused = await pool.acquire(connect_s)
            exchange = connection.send(wire, asyncio.get_running_loop())
            try:
                await exchange.head
            except BaseException as error:
                pool.release(connection, keep=False)
                if isinstance(error, TransportError) and reused and exchange.unheard and request.method == "GET":
                    continue  # RFC 9110 section 9.2.2: an idempotent request may be repeated
                raise
            return FastResponse(exchange, connection, pool, self._limits.linger_s)

    @property
    def in_use(self) -> int:
        """Connections that carry an exchange."""
        return sum(pool.in_use for pool in self._pools.values())

    async def aclose(self) -> None:
        for connection in list(self._connections):
            connection.abort()

    def _pool(self, origin: Origin) -> Pool:
        pool = self._pools.get(origin)
        if pool is None:
            tls = self._context() if origin.scheme == "https" else None
            pool = self._pools[origin] = Pool(
                self._connector(origin, tls), self._limits.connections, self._limits.idle_s
            )
        return pool

    def _connector(self, origin: Origin, tls: ssl.SSLContext | None) -> Callable[[float, Pool], Awaitable[Connection]]:
        async def make(within_s: float, pool: Pool) -> Connection:
            def lost(connection: Connection) -> None:
                self._connections.discard(connection)
                pool.forget(connection)

            connection = await connect(origin, tls, within_s, lambda: Connection(self._bounds, lost))
            self._connections.add(connection)
            return connection

        return make

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


def serialise(request: HttpRequest) -> bytes:
    """The request as bytes. Raises ValueError for a line end inside a header, which would be a second header."""
    lines = [f"{request.method} {request.path} HTTP/1.1", f"host: {request.origin.authority}"]
    lines += [f"{name}: {value}" for name, value in request.headers]
    lines.append(f"content-length: {len(request.body)}")
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1 or "\0" in head:
        raise ValueError("a header of the request holds a line end")
    return head.encode("latin-1") + b"\r\n\r\n" + request.body
