"""One connection to one origin, carrying one exchange at a time."""

import asyncio
import contextlib
import select
import socket
import ssl
from collections.abc import Callable
from typing import cast

from backends.transport.exchange import Bounds, Exchange
from backends.transport.interface import Origin, TransportError


class Connection(asyncio.Protocol):
    """`idle_since` is the loop's time of its last release. `on_lost` is called once, when the socket is gone."""

    def __init__(self, bounds: Bounds, on_lost: Callable[["Connection"], None]) -> None:
        self.closed = False
        self.idle_since = 0.0
        self.exchange: Exchange | None = None
        self._bounds = bounds
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._poll = select.poll()

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
        self._on_lost(self)

    def send(self, wire: bytes, loop: asyncio.AbstractEventLoop) -> Exchange:
        assert self._transport is not None
        self.exchange = Exchange(self, self._bounds, loop)
        self._transport.write(wire)
        return self.exchange

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

    def is_quiet(self) -> bool:
        """Alive, and nothing has come that the loop has not seen yet: no end of stream, no stray bytes."""
        if self.closed or self._transport is None or self._transport.is_closing():
            return False
        return not self._poll.poll(0)


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
