"""One request on a connection of the server's, and its answer: `gateway.request.client.Asker`, over HTTP/1.1."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

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

    def opening(self, status: int) -> bytes:
        """The first lines of an answer: its status, and what every answer carries."""
        ...

    def listen(self) -> None:
        """Read on, where reading was held up."""
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
    """`has_room` is kept by the connection. `begun`: the head of the answer is written or about to be; `is_over`: all of it
    is. `keep_alive`: another request may follow. `knows_chunks`: it speaks HTTP/1.1."""

    __slots__ = (
        "_carried",
        "_chunks",
        "_head",
        "_is_invited",
        "_is_told",
        "_left",
        "_line",
        "_parts",
        "_woken",
        "begun",
        "body_bytes",
        "disconnected",
        "has_room",
        "head",
        "is_over",
        "keep_alive",
        "knows_chunks",
        "more_body",
        "task",
    )

    def __init__(self, line: Line, head: Head, *, keep_alive: bool) -> None:
        self.head = head
        self.keep_alive = keep_alive
        self.knows_chunks = head.version != "1.0"
        self.has_room = True
        self.more_body = True
        self.begun = self.is_over = self.disconnected = self._is_told = self._chunks = False
        self.task: asyncio.Task[None] | None = None
        self.body_bytes = 0
        self._line = line
        self._is_invited = not self.knows_chunks or head.headers.get("expect", "").lower() != "100-continue"
        self._parts: list[bytes] = []
        self._head = self._carried = b""
        self._left: Callable[[], None] | None = None
        self._woken: asyncio.Event | None = None

    # What it says

    def took(self, data: bytes) -> None:
        """More of the body came."""
        self._parts.append(data)
        self.body_bytes += len(data)
        if self._woken is not None:
            self._woken.set()

    def ended(self) -> None:
        """All of the body came."""
        self.more_body = False
        if self._woken is not None:
            self._woken.set()

    @property
    def whole_body(self) -> bytes | None:
        return None if self.more_body else b"".join(self._parts)

    async def receive(self) -> AsgiEvent:
        if not self._is_invited:
            self._is_invited = True
            self._line.transport.write(CONTINUE)
        while not (self._has_news or self.is_over or self.disconnected):
            self._line.listen()
            self._woken = asyncio.Event()
            await self._woken.wait()
        if self.is_over or self.disconnected:
            return {"type": "http.disconnect"}
        parts, self._parts, self.body_bytes = self._parts, [], 0
        self._is_told = not self.more_body
        return {"type": "http.request", "body": b"".join(parts), "more_body": self.more_body}

    @property
    def _has_news(self) -> bool:
        return bool(self._parts) or not (self.more_body or self._is_told)

    # Whether it is there

    def watch(self, left: Callable[[], None] | None) -> None:
        self._left = left
        if left is None:
            return
        self._line.listen()
        if self.disconnected:
            left()

    def gone(self) -> None:
        """The connection is lost, or ended by us before the answer was whole."""
        if self.is_over:
            return
        self.disconnected = True
        if self._woken is not None:
            self._woken.set()
        if self._left is not None:
            self._left()

    # What it is told

    async def room(self) -> None:
        if not self.has_room and not self.disconnected:
            await self._line.room()

    def carries(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self._carried = b"".join([b"%b: %b\r\n" % header for header in headers])

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if not self.disconnected:
            self._begin(status, b"content-length: %d\r\n" % len(body), headers)
            self._line.transport.write(self._head if self.head.method == b"HEAD" else self._head + body)
            self._complete()

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        if not self.disconnected:
            is_framed = "content-length" in headers or status in BODILESS or self.head.method == b"HEAD"
            self._chunks = self.knows_chunks and not is_framed
            self._begin(status, CHUNKS if self._chunks else b"", headers)

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

    def _begin(self, status: int, framing: bytes, headers: Mapping[str, str]) -> None:
        """Raises ValueError for a value that would be more than one line."""
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()]).encode("latin-1")
        if lines.translate(None, FIT) != LINE_END * len(headers):
            raise ValueError("a header of the answer holds a control character")
        if "close" in headers.get("connection", ""):
            self.keep_alive = False
        elif not self.keep_alive:
            framing += CLOSES
        self.begun = self._is_invited = True
        self._head = b"%b%b%b%b\r\n" % (self._line.opening(status), self._carried, framing, lines)

    def _complete(self) -> None:
        self.is_over = True
        self._left = None
        if self._woken is not None:
            self._woken.set()
        if not self.keep_alive:
            self._line.close()
        self._line.answered()
