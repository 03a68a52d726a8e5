"""One connection to one origin, carrying one exchange at a time."""

import asyncio
import contextlib
import select
import socket
import ssl
from collections.abc import Callable
from typing import Protocol, cast

from backends.transport.exchange import Bounds, Exchange
from backends.transport.interface import Origin, TransportError

FRESH_S = 0.05
"""Nobody closes a connection that was used so short a time ago for being idle; what else came of it before this turn of the
loop the loop has told."""


class Keeper(Protocol):
    """Whose connection it is."""

    def release(self, connection: "Connection", *, keep: bool) -> None:
        """Its exchange is over; `keep` says whether it can carry another one."""
        ...

    def lost(self, connection: "Connection") -> None:
        """The socket is gone."""
        ...


class Connection(asyncio.Protocol):
    """`idle_since` is the loop's time of its last release."""

    __slots__ = ("_bounds", "_keeper", "_loop", "_poll", "_transport", "closed", "exchange", "idle_since")

    def __init__(self, bounds: Bounds, keeper: Keeper, loop: asyncio.AbstractEventLoop) -> None:
        self._bounds = bounds
        self._keeper = keeper
        self._loop = loop
        self._poll = select.poll()
        self._transport: asyncio.Transport | None = None
        self.exchange: Exchange | None = None
        self.closed, self.idle_since = False, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are no subclass of it
        sock = transport.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._poll.register(sock.fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        if self.exchange is None:
            self.abort()
        else:
            self.exchange.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        if self.exchange is not None:
            self.exchange.ended(exc)
        self._keeper.lost(self)

    def send(self, wire: bytes) -> Exchange:
        assert self._transport is not None
        self.exchange = exchange = Exchange(self, self._bounds, self._loop)
        self._transport.write(wire)
        return exchange

    def free(self, *, keep: bool) -> None:
        """Of the exchange, which is over."""
        self.exchange = None
        self._keeper.release(self, keep=keep)

    def pause(self) -> None:
        if self._transport is not None and not self.closed:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self.closed:
            self._transport.resume_reading()

    def abort(self) -> None:
        """Close at once; the peer notices within the time of one packet."""
        self.closed = True
        if self._transport is not None:
            self._transport.abort()

    def is_quiet(self, now: float) -> bool:
        """Alive, and nothing has come that the loop has not seen yet: no end of stream, no stray bytes."""
        if self.closed or self._transport is None or self._transport.is_closing():
            return False
        return now - self.idle_since < FRESH_S or not self._poll.poll(0)


async def connect(
    origin: Origin, tls: ssl.SSLContext | None, within_s: float, make: Callable[[], Connection]
) -> Connection:
    """Raises `TransportError` of kind `unreachable`: nothing was sent."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(within_s):
            _, connection = await loop.create_connection(make, origin.host, origin.port, ssl=tls)
    except TimeoutError as error:
        message = f"no connection to {origin} within {within_s:g} s"
        raise TransportError("unreachable", message, sent=False) from error
    except (OSError, ValueError) as error:
        message = f"cannot connect to {origin}: {_why(error)}"
        raise TransportError("unreachable", message, sent=False) from error
    return connection


def _why(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    return getattr(error, "strerror", None) or type(error).__name__
