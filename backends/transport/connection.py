"""One connection to one origin, carrying one exchange at a time."""

import asyncio
import contextlib
import select
import socket
import ssl
from collections.abc import Callable
from typing import Protocol, cast

import httptools

from backends.transport.alarms import until
from backends.transport.exchange import Bounds, Exchange
from backends.transport.heads import Heads
from backends.transport.interface import Origin, TransportError

ENCODING = b"content-encoding"

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
    """`idle_since` is the loop's time of its last release. Its parser stays with it from one exchange to the next, and stands
    at the begin of an answer whenever one is due."""

    __slots__ = (
        "_bounds",
        "_heads",
        "_keeper",
        "_left",
        "_loop",
        "_parser",
        "_poll",
        "_transport",
        "closed",
        "exchange",
        "idle_since",
    )

    def __init__(
        self, bounds: Bounds, keeper: Keeper, loop: asyncio.AbstractEventLoop, heads: Heads | None = None
    ) -> None:
        self._bounds = bounds
        self._keeper = keeper
        self._loop = loop
        self._heads = heads or Heads()
        self._left = 0
        self._poll = select.poll()
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
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
        exchange = self.exchange
        if exchange is None:
            self.abort()
            return
        if self._left:
            self._go_on(exchange, data)
        elif exchange.is_heard:
            self._parse(exchange, data)
        elif not self._is_known(exchange, data):
            self._begin(exchange, data)
        if exchange.came():
            self.exchange = None
            self._keeper.release(self, keep=exchange.done and exchange.reusable)

    def connection_lost(self, exc: Exception | None) -> None:
        """The parser knows this connection, which is not to wait for the collector of cycles."""
        self.closed, self._parser = True, None
        if self.exchange is not None:
            self.exchange.ended(exc)
            self.leave()
        self._keeper.lost(self)

    def send(self, wire: bytes) -> Exchange:
        assert self._transport is not None
        self.exchange = exchange = Exchange(self, self._bounds, self._loop)
        self._transport.write(wire)
        return exchange

    def leave(self) -> None:
        self.exchange = None
        self._keeper.release(self, keep=False)

    def _is_known(self, exchange: Exchange, data: bytes) -> bool:
        """Whether the answer begins with a head of a form that was read before. Then it is written down as the parser would."""
        heads = self._heads
        found = heads.match(data) if heads.match is not None else None
        if found is None:
            return False
        begin = found.end()
        self._left = left = int(found[1]) - (len(data) - begin)
        if left < 0:
            self._left = 0
            return False
        exchange.is_heard = exchange.reusable = True
        exchange.status, exchange.known, exchange.done = heads.status, data, not left
        if len(data) > begin:
            exchange.pieces.append(data[begin:])
            exchange.unread = len(data) - begin
        return True

    def _begin(self, exchange: Exchange, data: bytes) -> None:
        self._parse(exchange, data)
        if exchange.done and exchange.reusable:
            self._heads.learn(data, exchange.status, exchange.lines)

    def _go_on(self, exchange: Exchange, data: bytes) -> None:
        """More of a body whose length is known. What is behind it is the parser's to judge."""
        piece, beyond = data[: self._left], data[self._left :]
        self._left -= len(piece)
        self.on_body(piece)
        if not self._left:
            exchange.done = True
            if beyond:
                self._parse(exchange, beyond)

    def _parse(self, exchange: Exchange, data: bytes) -> None:
        parser = self._parser
        assert parser is not None
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            exchange.fail("malformed", f"the upstream's answer is not proper HTTP ({error})")
        exchange.is_heard = True
        if exchange.status < 200:
            exchange.head_bytes += len(data)
            if exchange.head_bytes > self._bounds.head_bytes:
                exchange.fail("malformed", "the head of the upstream's answer is too large")

    # parser's side

    def on_message_begin(self) -> None:
        if self.exchange is not None and self.exchange.status >= 200:
            raise ValueError("a second response to one request")

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self.exchange
        assert exchange is not None
        exchange.lines.append((name, value))
        if len(exchange.lines) > self._bounds.headers:
            raise ValueError("too many headers")
        if len(name) == len(ENCODING) and name.lower() == ENCODING:
            exchange.is_packed = True

    def on_headers_complete(self) -> None:
        exchange, parser = self.exchange, self._parser
        assert exchange is not None
        assert parser is not None
        exchange.head_came(parser.get_status_code(), can_follow=parser.should_keep_alive())

    def on_body(self, data: bytes) -> None:
        exchange = self.exchange
        if exchange is not None and exchange.lingering is None:
            exchange.pieces.append(data)
            exchange.unread += len(data)

    def on_message_complete(self) -> None:
        exchange = self.exchange
        if exchange is not None and exchange.status >= 200:
            exchange.done = True

    # socket's side

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
        async with until(loop.time() + within_s):
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
