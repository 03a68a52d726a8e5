"""Connections of shadows: apart from those of requests, and read in small bites, one after another, so that no answer holds up
the event loop, nor a flood of them."""

import asyncio
from collections.abc import Mapping

from backends.transport import HttpRequest, Response, Transport, TransportError

BITE_BYTES = 2_048
"""That are handed on before others have their turn."""

APART_S = 0.001
"""Between two bites, of all shadows together: 2 MB a second, which is some 200 ms of work."""

MOST_WHOLE_BYTES = 512 << 10
MOST_STREAM_BYTES = 4 << 20
"""Of an answer in one piece, which is decoded at once, and of a stream, where a token takes some 250."""


class Turns:
    """Who comes takes the next turn; turns are `apart_s` from each other.

    >>> turns = Turns(0.5)
    >>> turns.wait_s(10.0), turns.wait_s(10.0), turns.wait_s(10.0), turns.wait_s(12.0)
    (0.0, 0.5, 1.0, 0.0)
    """

    def __init__(self, apart_s: float = APART_S) -> None:
        self._apart_s = apart_s
        self._next_at = 0.0

    def wait_s(self, now: float) -> float:
        """How long until the turn that is taken hereby."""
        at = max(now, self._next_at)
        self._next_at = at + self._apart_s
        return at - now


class NarrowTransport:
    """Passes requests on; their answers come slowly and end at a bound."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._turns = Turns()

    async def open(self, request: HttpRequest, connect_s: float, whole_s: float | None = None) -> Response:
        return NarrowResponse(await self._inner.open(request, connect_s, whole_s), self._turns)

    async def aclose(self) -> None:
        await self._inner.aclose()


class NarrowResponse:
    def __init__(self, inner: Response, turns: Turns) -> None:
        self._inner = inner
        self._turns = turns
        self._rest = memoryview(b"")
        streams = inner.headers.get("content-type", "").lower().startswith("text/event-stream")
        self._left = MOST_STREAM_BYTES if streams else MOST_WHOLE_BYTES

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    @property
    def is_packed(self) -> bool:
        return self._inner.is_packed

    @property
    def done(self) -> bool:
        return self._inner.done and not self._rest

    async def read(self) -> bytes:
        """Raises TransportError, for an answer that does not end as well."""
        if not self._rest:
            self._rest = memoryview(await self._inner.read())
        if self._rest and (wait_s := self._turns.wait_s(asyncio.get_running_loop().time())) > 0:
            await asyncio.sleep(wait_s)
        bite, self._rest = bytes(self._rest[:BITE_BYTES]), self._rest[BITE_BYTES:]
        self._left -= len(bite)
        if self._left < 0:
            raise TransportError("malformed", "the shadow's answer is longer than is compared", sent=True)
        return bite

    async def aclose(self, *, whole: bool = False) -> None:
        await self._inner.aclose(whole=whole and not self._rest)
