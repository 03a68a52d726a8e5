"""The transport of the hot path: HTTP/1.1 straight on asyncio, with httptools as its parser."""

import asyncio
import ssl

from backends.transport.alarms import STRETCH_S, Alarms, until
from backends.transport.connection import Connection
from backends.transport.exchange import Bounds, Exchange
from backends.transport.interface import HttpRequest, Origin, TransportError, late, lines_of, opening_of
from backends.transport.pool import Pool, PoolLimits


class FastTransport:
    """Keeps connections by origin. `tls` None means the system's certificates."""

    def __init__(
        self, limits: PoolLimits | None = None, bounds: Bounds | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._limits = limits or PoolLimits()
        self._bounds = bounds or Bounds()
        self._tls = tls
        self._pools: dict[Origin, Pool] = {}
        self._alarms: Alarms | None = None

    async def open(self, request: HttpRequest, connect_s: float, whole_s: float | None = None) -> Exchange:
        wire = serialise(request)
        pool = self._pools.get(request.origin) or self._pool(request.origin)
        now = pool.now()
        while True:
            connection, is_reused = pool.reuse(now), True
            if connection is None:
                connection, is_reused = await _taken(pool, connect_s, now, whole_s)
            exchange = connection.send(wire)
            if whole_s is not None:
                exchange.whole_s, exchange.until = whole_s, now + whole_s
                if whole_s > STRETCH_S:
                    (self._alarms or self._set_alarms()).ring(exchange, exchange.until)
                else:
                    exchange.is_near()
            try:
                await exchange.head
            except BaseException as error:
                exchange.give_up()
                if (
                    isinstance(error, TransportError)
                    and is_reused
                    and request.method == "GET"
                    and not exchange.is_heard
                ):
                    continue  # RFC 9110 section 9.2.2: an idempotent request may be repeated
                raise
            return exchange

    @property
    def in_use(self) -> int:
        """Connections that carry an exchange."""
        return sum(pool.in_use for pool in self._pools.values())

    @property
    def waiting(self) -> int:
        """Exchanges whose time is bounded, and far from over."""
        return self._alarms.waiting if self._alarms is not None else 0

    async def aclose(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _pool(self, origin: Origin) -> Pool:
        tls = self._context() if origin.scheme == "https" else None
        pool = self._pools[origin] = Pool(origin, tls, self._limits, self._bounds)
        return pool

    def _set_alarms(self) -> Alarms:
        """On the event loop of the connections."""
        self._alarms = Alarms(asyncio.get_running_loop())
        return self._alarms

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


async def _taken(pool: Pool, connect_s: float, now: float, whole_s: float | None) -> tuple[Connection, bool]:
    """As `take`, in the time of the whole answer, which may be less than connecting may take."""
    if whole_s is None or whole_s > connect_s:
        return await pool.take(connect_s)
    try:
        async with until(now + whole_s):
            return await pool.take(connect_s)
    except TimeoutError:
        raise late(whole_s) from None


def serialise(request: HttpRequest) -> bytes:
    """The request as bytes. Raises ValueError for a line end inside a header, which would be a second header."""
    opening = request.opening or opening_of(request.method, request.origin, request.path, request.headers)
    more = lines_of(request.more) if request.more else b""
    return b"%b%bcontent-length: %d\r\n\r\n%b" % (opening, more, len(request.body), request.body)
