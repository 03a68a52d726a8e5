"""One request on a connection of the server's: as uvicorn serves it to ASGI, and as the hot path does without."""

import re
from collections.abc import Callable, Iterable, Mapping

from uvicorn._types import ASGI3Application, ASGISendEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""No part of a header: a line end would begin another one."""


class Caller(RequestResponseCycle):
    """Beside uvicorn's part this is a `gateway.request.client.Client`. `knows_chunks`: it speaks HTTP/1.1."""

    knows_chunks = True
    _head = b""
    _left: Callable[[], None] | None = None

    @property
    def whole_body(self) -> bytes | None:
        return None if self.more_body else bytes(self.body)

    @property
    def has_room(self) -> bool:
        return not self.flow.write_paused

    async def room(self) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()

    def carries(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.default_headers = [*self.default_headers, *headers]

    def watch(self, left: Callable[[], None] | None) -> None:
        self._left = left
        if left is None:
            return
        self.flow.resume_reading()
        if self.disconnected:
            left()

    def gone(self) -> None:
        """The connection is lost, or ended by us before the answer was whole."""
        if self.response_complete:
            return
        self.disconnected = True
        self.message_event.set()
        if self._left is not None:
            self._left()

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if not self.disconnected:
            self._begin(status, f"content-length: {len(body)}\r\n", headers)
            self.transport.write(self._head + body)
            self._complete()

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        if not self.disconnected:
            self._begin(status, "transfer-encoding: chunked\r\n" if self.knows_chunks else "", headers)

    def write(self, data: bytes, *, more: bool = True) -> None:
        if self.disconnected:
            return
        if self.knows_chunks:
            end = b"\r\n" if more else b"\r\n0\r\n\r\n"
            data = b"%b%x\r\n%b%b" % (self._head, len(data), data, end) if data else self._head + end[2:]
        else:
            data = self._head + data
        self._head = b""
        self.transport.write(data)
        if not more:
            self._complete()

    def _begin(self, status: int, framing: str, headers: Mapping[str, str]) -> None:
        """Raises ValueError for a value that would be more than one line."""
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if UNFIT.search(lines.replace("\r\n", "", len(headers))):
            raise ValueError("a header of the answer holds a control character")
        if "close" in headers.get("connection", ""):
            self.keep_alive = False
        elif not self.keep_alive:
            framing += "connection: close\r\n"
        own = b"".join([b"%b: %b\r\n" % header for header in self.default_headers])
        self.response_started, self.waiting_for_100_continue = True, False
        self._head = b"%b%b%b\r\n" % (STATUS_LINE[status], own, (framing + lines).encode("latin-1"))

    def _complete(self) -> None:
        self.response_complete = True
        self._left = None
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    async def run_asgi(self, app: ASGI3Application) -> None:
        """What is over goes at once: the scope has the client, the client the scope, and circles wait for the collector."""
        try:
            await super().run_asgi(app)
        finally:
            del self.scope["extensions"]

    async def send(self, message: ASGISendEvent) -> None:
        """RFC 9112 section 6.1: no transfer coding for who does not know of any. What has no length ends with the connection;
        uvicorn, which would send chunks, is told the length of each piece instead."""
        if not self.knows_chunks:
            body = message.get("body")
            self.chunked_encoding, self.expected_content_length = False, len(body) if isinstance(body, bytes) else 0
        await super().send(message)
