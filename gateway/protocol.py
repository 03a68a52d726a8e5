"""uvicorn's HTTP/1.1 with bounds on what it waits for: bytes and time of a head, time of a body that nobody reads, and how
many connections there are.

Without them, a connection that says nothing, sends one header for ever, or goes on with a body that was refused, lives as
long as it likes. What is no HTTP, or comes too late, is refused in the envelope of every other error. And an offer to
upgrade is passed over, as RFC 9110 section 7.8 allows, instead of losing the body.
"""

import asyncio
from array import array
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gateway.caller import Caller
from gateway.errors import BadRequest, RouterError, SlowRequest
from gateway.request.client import CLIENT
from gateway.request.unasked import as_bytes, turn_away
from gateway.settings import Limits

READ_BYTES = 262_144
"""The most that one read may hold: behind a whole head there may be that much of a body."""

CROWD = 128
"""Connections beyond the limit whose requests are refused in words; whoever comes behind them is hung up on."""

OFFER = frozenset((b"connection", b"upgrade", b"http2-settings"))
"""What a head says of its connection: Java's client offers h2c with its first request, whatever that is."""


class PlainParser(httptools.HttpRequestParser):
    """httptools leaves the body behind an offer to upgrade unread, so the head is read again without the offer."""

    def __init__(self, protocol: "BoundedProtocol") -> None:
        super().__init__(protocol)
        self._protocol = protocol

    def feed_data(self, data: "bytes | bytearray | memoryview[int] | array[int]") -> None:
        try:
            super().feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            self._protocol.read_again(bytes(data[offer.args[0] :]))


class BoundedProtocol(HttpToolsProtocol):
    """`limits` is set by `bounded_by`. The exact bound on the head's size is `ingress`'s; this one bounds memory."""

    limits = Limits()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parser = PlainParser(self)
        self._awaits_head = True
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._answering: Caller | None = None
        self.url = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn types it
        super().connection_made(transport)
        crowd = len(self.connections) - self.limits.connections
        if crowd > CROWD:
            transport.abort()
        elif crowd > 0:
            self.app = turn_away
        self._arm()

    def data_received(self, data: bytes) -> None:
        if self._awaits_head:
            self._head_bytes += len(data)
            if self._head_bytes > self.limits.header_bytes + READ_BYTES:
                self.transport.close()
                return
        super().data_received(data)
        if self._awaits_head and self._head_bytes:
            self._arm()

    def read_again(self, rest: bytes) -> None:
        """The head that was just read, without its offer to upgrade, and what came behind it."""
        first = b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        lines = [first, *[b"%b: %b" % header for header in self.headers if header[0] not in OFFER], b"", b""]
        self.parser = PlainParser(self)
        self.parser.feed_data(b"\r\n".join(lines) + rest)

    def _offers_upgrade(self) -> bool:
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def on_headers_complete(self) -> None:
        if self._offers_upgrade():
            return
        self._awaits_head, self._head_bytes = False, 0
        self._disarm()
        self._complete_scope()
        before: RequestResponseCycle | None = self.cycle
        self.cycle = caller = self._caller()
        self.scope["extensions"] = {CLIENT: caller}  # type: ignore[dict-item]  # ours
        if before is None or before.response_complete:
            self._start_asgi_task(caller, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((caller, self.app))

    def _complete_scope(self) -> None:
        url, scope = httptools.parse_url(self.url), self.scope
        scope["method"], scope["http_version"] = (
            self.parser.get_method().decode("ascii"),
            self.parser.get_http_version(),
        )
        scope["raw_path"], scope["query_string"] = url.path, url.query or b""
        scope["path"] = unquote(url.path.decode("ascii"))

    def _caller(self) -> Caller:
        knows_chunks = self.scope["http_version"] != "1.0"
        caller = Caller(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=knows_chunks and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        caller.knows_chunks = knows_chunks
        return caller

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        assert isinstance(cycle, Caller)
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_message_complete(self) -> None:
        if self._offers_upgrade():
            return
        self._awaits_head = True
        self._disarm()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Of a request that was answered before its body was whole, the rest is thrown away; not for ever."""
        super().on_response_complete()
        if not self._awaits_head:
            self._arm(self.limits.body_read_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)
        if self._answering is not None:
            self._answering.gone()

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP. A whole request before it is still owed its answer, and is the last one here."""
        if self.pipeline:
            self.transport.close()
        elif not self._owes_answer:
            self._hang_up(BadRequest("What came is not a request of HTTP/1.1."))
        elif self.cycle.more_body:
            unframed = BadRequest("The body is not framed as the head says.")
            self._hang_up(None if self.cycle.response_started else unframed)
            if self._answering is not None:
                self._answering.gone()
        else:
            self.cycle.keep_alive = False

    @property
    def _owes_answer(self) -> bool:
        latest: RequestResponseCycle | None = self.cycle  # None before the first request, whatever uvicorn's types say
        return latest is not None and not latest.response_complete

    def _hang_up(self, error: RouterError | None = None) -> None:
        if error is not None and not self.transport.is_closing():
            self.transport.write(as_bytes(error, self.url))
        self.transport.close()

    def _late(self) -> None:
        """Who said nothing is told nothing. What follows a request, say the line end of an old client, may wait for its
        answer."""
        self._deadline = None
        if self._awaits_head and self._owes_answer:
            self._arm()
        elif self._awaits_head and self._head_bytes:
            within = f"{self.limits.head_read_s:g} s"
            self._hang_up(SlowRequest(f"The head of the request did not arrive within {within}."))
        else:
            self._hang_up()

    def _arm(self, within_s: float = 0.0) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(within_s or self.limits.head_read_s, self._late)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bounded_by(limits: Limits) -> type[BoundedProtocol]:
    return type("Bounded", (BoundedProtocol,), {"limits": limits})
