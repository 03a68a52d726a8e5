"""One response as it comes in: fed with bytes, read piece by piece. Knows HTTP/1.1, no socket."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

import httptools
import msgspec

from backends.transport.interface import FailureKind, Into, TransportError

ENCODING = b"content-encoding"


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a peer may make us hold: header lines, bytes of the head, bytes of body not read yet. `linger_s` is how long the
    end of a body that is known to be whole is awaited."""

    headers: int = 128
    head_bytes: int = 64 * 1024
    unread_bytes: int = 256 * 1024
    linger_s: float = 1.0


class Flow(Protocol):
    """The socket behind."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def free(self, *, keep: bool) -> None:
        """The exchange is over, and told so once; `keep`: another one may follow it."""
        ...


class Exchange:
    """One response. `on_*` are called by the parser, `feed` and `ended` by the connection, the rest by who reads it."""

    __slots__ = (
        "_bounds",
        "_error",
        "_flow",
        "_freed",
        "_head_bytes",
        "_headers",
        "_heard",
        "_into",
        "_lines",
        "_lingering",
        "_loop",
        "_of_head",
        "_parser",
        "_paused",
        "_pieces",
        "_unread",
        "_until_eof",
        "_waiter",
        "done",
        "head",
        "is_packed",
        "reusable",
        "status",
    )

    def __init__(self, flow: Flow, bounds: Bounds, loop: asyncio.AbstractEventLoop) -> None:
        self._flow = flow
        self._bounds = bounds
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self.head: asyncio.Future[None] = loop.create_future()
        self.status = self._head_bytes = self._of_head = self._unread = 0
        self.is_packed = self.done = self.reusable = False
        self._heard = self._until_eof = self._paused = self._freed = False
        self._lines: list[tuple[bytes, bytes]] = []
        self._headers: Mapping[str, str] | None = None
        self._pieces: list[bytes] = []
        self._error: TransportError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._into: Into | None = None
        self._lingering: asyncio.TimerHandle | None = None

    # parser's side

    def on_message_begin(self) -> None:
        if self._heard and self.status >= 200:
            raise ValueError("a second response to one request")
        self._heard = True

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines.append((name, value))
        if len(self._lines) > self._bounds.headers:
            raise ValueError("too many headers")
        if len(name) == len(ENCODING) and name.lower() == ENCODING:
            self.is_packed = True

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        if self.status < 200:
            self._lines.clear()
            self.is_packed = False
            return
        self._of_head = len(self._lines)
        self.reusable = self._parser.should_keep_alive()
        if not self.reusable:
            chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
            bodiless = self.status in (204, 304)
            self._until_eof = not (chunked or bodiless or "content-length" in self.headers)
        if not self.head.done():
            self.head.set_result(None)

    def on_body(self, data: bytes) -> None:
        if self._lingering is not None:
            return
        self._pieces.append(data)
        self._unread += len(data)

    def on_message_complete(self) -> None:
        if self.status >= 200:
            self.done = True

    @property
    def headers(self) -> Mapping[str, str]:
        """Read when somebody asks; what follows a body in chunks is none of the head."""
        if self._headers is None:
            lines = reversed(self._lines[: self._of_head])
            self._headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in lines}
        return self._headers

    # connection's side

    def feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail("malformed", f"the upstream's answer is not proper HTTP ({error})")
        if self.status < 200:
            self._head_bytes += len(data)
            if self._head_bytes > self._bounds.head_bytes:
                self._fail("malformed", "the head of the upstream's answer is too large")
        if self._unread > self._bounds.unread_bytes and not self._paused:
            self._paused = True
            self._flow.pause()
        if self._waiter is not None or self._lingering is not None:
            self._wake()

    def ended(self, error: Exception | None) -> None:
        """The connection is gone: the proper end of a body without a length, and a loss otherwise."""
        if self._until_eof and error is None and self._error is None:
            self.done = True
        elif not self.done:
            self._fail("lost", "the upstream closed the connection before its answer was complete")
        self._wake()

    def _fail(self, kind: FailureKind, message: str) -> None:
        self.reusable = False
        if self.done:
            return
        if self._error is None:
            self._error = TransportError(kind, message, sent=True)
        if not self.head.done():
            self.head.set_exception(self._error)

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done() and not self._poured(waiter) and not waiter.done():
            waiter.set_result(None)
        if self._lingering is not None and self.over:
            self.give_up()

    # reader's side

    @property
    def over(self) -> bool:
        return self.done or self._error is not None

    @property
    def unheard(self) -> bool:
        """Not a byte of an answer has come."""
        return not self._heard

    async def read(self) -> bytes:
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self.done:
                return b""
            await self._more()
        return self._taken()

    async def pour(self, into: Into) -> None:
        """Every piece goes on from within `feed`, until `into` takes no more."""
        while into(await self.read()):
            if self._pieces or self.over:
                continue
            self._into = into
            try:
                await self._more()
            finally:
                still, self._into = self._into, None
            if still is None:
                return

    def _poured(self, waiter: "asyncio.Future[None]") -> bool:
        """Whether what has come went on, and whoever waits for the end of it may go on waiting."""
        if self._into is None or not self._pieces:
            return False
        try:
            if self._into(self._taken()):
                return not self.done and self._error is None
            self._into = None
        except Exception as error:
            if not waiter.done():
                waiter.set_exception(error)
            return True
        return False

    def _taken(self) -> bytes:
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._unread = 0
        if self._paused:
            self._paused = False
            self._flow.resume()
        return data

    async def _more(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    async def aclose(self, *, whole: bool = False) -> None:
        if self._lingering is not None:
            return
        if whole and not (self._freed or self.over):
            self._lingering = self._loop.call_later(self._bounds.linger_s, self.give_up)
            self._taken()
        else:
            self.give_up()

    def give_up(self) -> None:
        """The connection is free, for another exchange if this one came to its end. The parser knows this exchange, which is
        not to wait for the collector of cycles."""
        if self._freed:
            return
        self._freed = True
        if self._lingering is not None:
            self._lingering.cancel()
        del self._parser
        self._flow.free(keep=self.done and self.reusable)
