"""The transport interface on aiohttp's client: a peer in the measurement, not part of the product."""

from collections.abc import Mapping

import aiohttp

from backends.transport import HttpRequest, TransportError


class AiohttpResponse:
    done = False

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._headers = {name.lower(): value for name, value in response.headers.items()}

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._headers

    @property
    def is_packed(self) -> bool:
        return "content-encoding" in self._headers

    async def read(self) -> bytes:
        try:
            return await self._response.content.readany()
        except aiohttp.ClientError as error:
            raise TransportError("lost", str(error), sent=True) from error

    async def aclose(self, *, whole: bool = False) -> None:
        if whole or self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


class AiohttpTransport:
    def __init__(self, connections: int = 1024) -> None:
        connector = aiohttp.TCPConnector(limit=connections, keepalive_timeout=4.0)
        self._session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trust_env=False
        )

    async def open(self, request: HttpRequest, connect_s: float, whole_s: float | None = None) -> AiohttpResponse:
        timeout = aiohttp.ClientTimeout(total=whole_s, connect=connect_s)
        try:
            response = await self._session.request(
                request.method,
                f"{request.origin}{request.path}",
                headers=[*request.headers, *request.more.items()],
                data=request.body,
                timeout=timeout,
                allow_redirects=False,
            )
        except aiohttp.ClientConnectorError as error:
            raise TransportError("unreachable", str(error), sent=False) from error
        except aiohttp.ClientError as error:
            raise TransportError("lost", str(error), sent=True) from error
        return AiohttpResponse(response)

    async def aclose(self) -> None:
        await self._session.close()
