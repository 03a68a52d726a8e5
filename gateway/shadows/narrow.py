"""Connections of shadows: apart from those of requests, and read in small bites, so that no answer holds up the event loop."""

import asyncio
from collections.abc import Mapping

from backends.transport import HttpRequest, Response, Transport, TransportError

BITE_BYTES = 2_048
"""That are handed on before others have their turn."""

MOST_WHOLE_BYTES = 512 << 10
MOST_STREAM_BYTES = 4 << 20
"""Of an answer in one piece, which is decoded at once, and of a stream, where a token takes some 250."""


class NarrowTransport:
    """Passes requests on; their answers come slowly and end at a bound."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def open(self, request: HttpRequest, connect_s: float) -> Response:
        return NarrowResponse(await self._inner.open(request, connect_s))

    async def aclose(self) -> None:
        await self._inner.aclose()


class NarrowResponse:
    def __init__(self, inner: Response) -> None:
        self._inner = inner
        self._rest = memoryview(b"")
        streams = inner.headers.get("content-type", "").lower().startswith("text/event-stream")
        self._left = MOST_STREAM_BYTES if streams else MOST_WHOLE_BYTES

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def read(self) -> bytes:
        """Raises TransportError, for an answer that does not end as well."""
        if self._rest:
            await asyncio.sleep(0)
        else:
            self._rest = memoryview(await self._inner.read())
        bite, self._rest = bytes(self._rest[:BITE_BYTES]), self._rest[BITE_BYTES:]
        self._left -= len(bite)
        if self._left < 0:
            raise TransportError("malformed", "the shadow's answer is longer than is compared", sent=True)
        return bite

    async def aclose(self, *, whole: bool = False) -> None:
        await self._inner.aclose(whole=whole and not self._rest)
