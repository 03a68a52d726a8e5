"""The end of a connection that we end: our last words are taken first, in bounded time, and a client that is still speaking is
not cut off in the middle of them (RFC 9112 section 9.6)."""

import asyncio
import contextlib

from gateway.connection.deadline import Deadline

UNHEARD_BYTES = 67_108_864
"""Behind our last words, what a client may go on sending; twice the largest body that is taken by default."""


class Parting:
    """Begins when it is made. `heard_out`: the client is still saying something, and if its socket were closed on it, a reset
    would take our last words from it; so our side ends alone, and up to `patience_bytes` are thrown away until its side ends,
    too. TLS has no such half. Who neither takes what was written nor ends in `wait_s` is hung up on."""

    __slots__ = ("_deadline", "_patience_bytes", "_transport", "_unsent", "_wait_s")

    def __init__(
        self,
        transport: asyncio.Transport,
        deadline: Deadline,
        *,
        heard_out: bool,
        wait_s: float,
        patience_bytes: int = UNHEARD_BYTES,
    ) -> None:
        self._transport = transport
        self._deadline = deadline
        self._wait_s = wait_s
        self._patience_bytes = patience_bytes
        if heard_out and transport.can_write_eof():
            with contextlib.suppress(OSError):  # asyncio's own transport says so where the client has left already
                transport.write_eof()
        else:
            transport.close()
        self._wait()

    def heard(self, data: bytes) -> None:
        self._patience_bytes -= len(data)
        if self._patience_bytes < 0:
            self._transport.abort()

    def late(self) -> None:
        """Who takes some of what was written has as long again for the rest."""
        if self._transport.get_write_buffer_size() < self._unsent:
            self._wait()
        else:
            self._transport.abort()

    def _wait(self) -> None:
        self._unsent = self._transport.get_write_buffer_size()
        self._deadline.within(self._wait_s)
