"""One request on a connection of the server's, and its answer: `gateway.request.client.Asker`, over HTTP/1.1."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Protocol

from gateway.errors import Left
from gateway.request.head import Head
from gateway.request.ingress import AsgiEvent

FIT = bytes(set(range(256)) - set(b"\x7f") - set(range(32)) | set(b"\t"))
"""What a header is made of. Anything else is no part of one: a line end would begin another."""

LINE_END = b"\r\n"
CHUNKS = b"transfer-encoding: chunked\r\n"
CLOSES = b"connection: close\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

BODILESS = frozenset((204, 304))
"""Statuses whose answers have no body, and so no framing (RFC 9112 section 6.3)."""


class Line(Protocol):
    """The connection that a request came on."""

    transport: asyncio.Transport
    is_deaf: bool

    def opening(self, status: int) -> bytes:
        """The first lines of an answer: its status, and what every answer carries."""
        ...

    def listen(self) -> None:
        """Read on, where reading is held up: it `is_deaf`."""
        ...

    async def room(self) -> None:
        """Wait until more may be written, or it is lost."""
        ...

    def answered(self) -> None:
        """The answer under way is whole."""
        ...

    def close(self) -> None:
        """No more than what was written."""
        ...


class Caller:
    """`has_room` is kept by the connection, and so are the `parts` of the body; `woken`: somebody waits for them. `begun`: the
    head of the answer is written or about to be; `is_over`: all of it is. `keep_alive`: another request may follow. `left`: it
    left, and that has cancelled what answers it. What stands in the class is so until something happens."""

    has_room = more_body = True
    begun = is_over = disconnected = left = False
    task: "asyncio.Task[None] | None" = None
    body_bytes = 0
    woken: asyncio.Event | None = None
    _is_told = _is_watched = _chunks = False
    _head = _carried = b""

    def __init__(self, line: Line, head: Head, keep_alive: bool) -> None:
        self.head = head
        self.keep_alive = keep_alive
        self.parts: list[bytes] = []
        self._line = line
        self._is_invited = "expect" not in head.headers or not self._waits_for_word

    @property
    def _waits_for_word(self) -> bool:
        """Before it sends its body."""
        return self.knows_chunks and self.head.headers["expect"].lower() == "100-continue"

    @property
    def knows_chunks(self) -> bool:
        """It speaks HTTP/1.1."""
        return self.head.version != "1.0"

    # What it says

    @property
    def whole_body(self) -> bytes | None:
        return None if self.more_body else b"".join(self.parts)

    async def receive(self) -> AsgiEvent:
        if not self._is_invited:
            self._is_invited = True
            self._line.transport.write(CONTINUE)
        while not (self._has_news or self.is_over or self.disconnected):
            self._line.listen()
            self.woken = asyncio.Event()
            await self.woken.wait()
        if self.is_over or self.disconnected:
            return {"type": "http.disconnect"}
        parts, self.parts, self.body_bytes = self.parts, [], 0
        self._is_told = not self.more_body
        return {"type": "http.request", "body": b"".join(parts), "more_body": self.more_body}

    @property
    def _has_news(self) -> bool:
        return bool(self.parts) or not (self.more_body or self._is_told)

    # Whether it is there

    def watch(self) -> None:
        self._is_watched = True
        if self._line.is_deaf:
            self._line.listen()
        if self.disconnected:
            self._cancel()

    def unwatch(self) -> None:
        self._is_watched = False
        if self.left and self.task is not None:
            self.task.uncancel()
            raise Left("The client closed the connection.") from None

    def gone(self) -> None:
        """The connection is lost, or ended by us before the answer was whole."""
        if self.is_over:
            return
        self.disconnected = True
        if self.woken is not None:
            self.woken.set()
        if self._is_watched:
            self._cancel()

    def _cancel(self) -> None:
        if self.task is not None and not self.left:
            self.left = True
            self.task.cancel()

    # What it is told

    async def room(self) -> None:
        if not self.has_room and not self.disconnected:
            await self._line.room()

    def carries(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._carried = b"".join([b"%b: %b\r\n" % header for header in headers])

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if not self.disconnected:
            head = self._begin(status, b"content-length: %d\r\n" % len(body), headers)
            self._line.transport.write(head if self.head.method == b"HEAD" else head + body)
            self._complete()

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        if not self.disconnected:
            is_framed = "content-length" in headers or status in BODILESS or self.head.method == b"HEAD"
            self._chunks = self.knows_chunks and not is_framed
            self._head = self._begin(status, CHUNKS if self._chunks else b"", headers)

    def write(self, data: bytes, *, more: bool = True) -> None:
        if self.disconnected:
            return
        if self._chunks:
            end = b"\r\n" if more else b"\r\n0\r\n\r\n"
            data = b"%b%x\r\n%b%b" % (self._head, len(data), data, end) if data else self._head + end[2:]
        elif self._head:
            data = self._head + data
        self._head = b""
        self._line.transport.write(data)
        if not more:
            self._complete()

    def break_off(self) -> None:
        """There will be no more, and it was not all: the connection says so by ending."""
        if not self.begun:
            self.keep_alive = False
            self.answer(500, {"content-type": "text/plain; charset=utf-8"}, b"Internal Server Error")
        self._line.close()

    def _begin(self, status: int, framing: bytes, headers: Mapping[str, str]) -> bytes:
        """The head of the answer. Raises ValueError for a value that would be more than one line."""
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()]).encode("latin-1")
        if lines.translate(None, FIT) != LINE_END * len(headers):
            raise ValueError("a header of the answer holds a control character")
        if "connection" in headers and "close" in headers["connection"]:
            self.keep_alive = False
        elif not self.keep_alive:
            framing += CLOSES
        self.begun = self._is_invited = True
        return b"%b%b%b%b\r\n" % (self._line.opening(status), self._carried, framing, lines)

    def _complete(self) -> None:
        self.is_over = True
        self._is_watched = False
        if self.woken is not None:
            self.woken.set()
        if not self.keep_alive:
            self._line.close()
        self._line.answered()
