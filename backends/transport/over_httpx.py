"""The same interface on httpx's API: for proxies, client certificates, and apps tested without a socket.

Whatever an `httpx.AsyncBaseTransport` can do can stand here; it costs several times the processor of `fast`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Mapping
from http.cookiejar import DefaultCookiePolicy
from typing import TypeVar

import httpx

from backends.transport.interface import FailureKind, HttpRequest, TransportError, late

T = TypeVar("T")

_CONNECTING = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


class HttpxResponse:
    """A response that httpx streams. Its bytes are the wire's, not unpacked. It does not say beforehand where it ends."""

    done = False

    def __init__(self, response: httpx.Response, limit: "Limit") -> None:
        self._response = response
        self._limit = limit
        self._pieces: AsyncIterator[bytes] = response.aiter_raw()
        self._headers: dict[str, str] = {}
        for name, value in response.headers.multi_items():
            self._headers.setdefault(name.lower(), value)

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        return self._headers

    @property
    def is_packed(self) -> bool:
        return "content-encoding" in self._headers

    async def read(self) -> bytes:
        try:
            while True:
                piece = await self._limit.keep(self._next())
                if piece is None:
                    return b""
                if piece:
                    return piece
        except httpx.HTTPError as error:
            raise failure(error) from error
        except httpx.StreamError as error:
            raise TransportError("lost", "the response was closed while it was read", sent=True) from error

    async def _next(self) -> bytes | None:
        return await anext(self._pieces, None)

    async def aclose(self, *, whole: bool = False) -> None:
        with contextlib.suppress(httpx.HTTPError):
            await self._response.aclose()


class Limit:
    """What has to be over `whole_s` seconds from now. None: whenever it likes."""

    def __init__(self, whole_s: float | None) -> None:
        self._whole_s = whole_s
        self._at = None if whole_s is None else asyncio.get_running_loop().time() + whole_s

    async def keep(self, work: Coroutine[object, object, T]) -> T:
        """Raises TransportError of kind `late`."""
        try:
            async with asyncio.timeout_at(self._at) as limit:
                return await work
        except TimeoutError:
            if self._whole_s is None or not limit.expired():
                raise
            raise late(self._whole_s) from None


class HttpxTransport:
    """No redirects, no cookies, nothing from the environment, whatever transport is beneath."""

    def __init__(
        self, beneath: httpx.AsyncBaseTransport | None = None, *, connections: int = 1024, proxy: str | None = None
    ) -> None:
        limits = httpx.Limits(max_connections=connections, keepalive_expiry=4.0)
        self._client = httpx.AsyncClient(
            transport=beneath, limits=limits, proxy=proxy, trust_env=False, follow_redirects=False, headers={}
        )
        self._client.headers.clear()
        self._client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))

    async def open(self, request: HttpRequest, connect_s: float, whole_s: float | None = None) -> HttpxResponse:
        limit = Limit(whole_s)
        timeout = httpx.Timeout(None, connect=connect_s, pool=connect_s)
        try:
            built = self._client.build_request(
                request.method,
                f"{request.origin}{request.path}",
                headers=[*request.headers, *request.more.items()],
                content=request.body,
                timeout=timeout,
            )
            return HttpxResponse(await limit.keep(self._client.send(built, stream=True)), limit)
        except httpx.HTTPError as error:
            raise failure(error) from error

    async def aclose(self) -> None:
        await self._client.aclose()


def failure(error: httpx.HTTPError) -> TransportError:
    """By the type that httpx raises: only what happened before a connection stood is known not to have been sent."""
    kind: FailureKind = "lost"
    if isinstance(error, _CONNECTING):
        kind = "unreachable"
    elif isinstance(error, httpx.PoolTimeout):
        kind = "busy"
    elif isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
        kind = "lost" if "incomplete" in str(error) or "peer closed" in str(error) else "malformed"
    words = {
        "unreachable": "cannot connect to the upstream",
        "busy": "all connections to the upstream are in use",
        "lost": "the upstream closed the connection before its answer was complete",
        "malformed": "the upstream's answer is not proper HTTP",
    }
    return TransportError(kind, words[kind], sent=kind not in ("unreachable", "busy"))
