"""uvicorn's HTTP/1.1 with a bound on what comes before a request: bytes and time of its head.

Without it, a connection that says nothing, or sends one header for ever, costs memory as long as it likes.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway.settings import Limits

READ_BYTES = 262_144
"""The most that one read may hold: behind a whole head there may be that much of a body."""


class BoundedProtocol(HttpToolsProtocol):
    """`limits` is set by `bounded_by`. The exact bound on the head's size is `ingress`'s; this one bounds memory."""

    limits = Limits()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._awaits_head = True
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn types it
        super().connection_made(transport)
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

    def on_headers_complete(self) -> None:
        self._awaits_head, self._head_bytes = False, 0
        self._disarm()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._awaits_head = True
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def _arm(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.head_read_s, self.transport.close)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bounded_by(limits: Limits) -> type[BoundedProtocol]:
    return type("Bounded", (BoundedProtocol,), {"limits": limits})
