"""The HTTP seam: what a call over HTTP needs, and no more.

One request, one response, read piece by piece. Nothing is added behind the caller's back: no redirects, no cookies, no
proxies from the environment, no retries of a POST, no transparent decompression.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, Protocol, runtime_checkable
from urllib.parse import urlsplit

import msgspec

_PORTS = {"http": 80, "https": 443}

FailureKind = Literal["unreachable", "busy", "lost", "malformed", "late"]


class TransportError(Exception):
    """An exchange that failed below HTTP.

    `unreachable`: no connection (refused, name, TLS, too slow). `busy`: every connection that we may have is in use.
    `lost`: the peer went away. `malformed`: what it said is not HTTP within our bounds. `late`: it took longer in all than it
    may. `sent` is True once bytes of the request may have been read by the peer.
    """

    def __init__(self, kind: FailureKind, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.kind = kind
        self.sent = sent


def late(whole_s: float) -> TransportError:
    return TransportError("late", f"the upstream took longer than {whole_s:g} s in all", sent=True)


class Origin(msgspec.Struct, frozen=True):
    """Where a connection goes. Keys and connections belong to exactly one origin."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """Host, and the port unless it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


class HttpRequest(msgspec.Struct, frozen=True):
    """`headers` is the whole set but for `host` and `content-length`, which belong to the framing, and for `more`, which are
    of this request alone and have other names.

    `opening` is what `opening_of` makes of everything before `more`, where it was made for many requests.
    Its `repr` shows neither headers nor body: they hold keys and prompts.
    """

    method: Literal["GET", "POST"]
    origin: Origin
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    more: Mapping[str, str] = {}
    opening: bytes = b""

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {self.origin}{self.path})"


def opening_of(method: str, origin: Origin, path: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """The head of a request as far as it does not hang on the body. Raises ValueError for a line end or NUL inside a line.

    >>> opening_of("GET", Origin("http", "u", 80), "/v1", [("accept", "*/*")])
    b'GET /v1 HTTP/1.1\\r\\nhost: u\\r\\naccept: */*\\r\\n'
    """
    request_line = f"{method} {path} HTTP/1.1\r\n"
    if request_line.count("\n") != 1 or request_line.count("\r") != 1 or "\0" in request_line:
        raise ValueError("the path of the request holds a line end or NUL")
    return request_line.encode("latin-1") + lines_of({"host": origin.authority, **dict(headers)})


def lines_of(headers: Mapping[str, str]) -> bytes:
    """Raises ValueError for a line end inside a header, which would begin another one."""
    text = ""
    for name, value in headers.items():
        text += f"{name}: {value}\r\n"
    if text.count("\n") != len(headers) or text.count("\r") != len(headers) or "\0" in text:
        raise ValueError("a header of the request holds a line end")
    return text.encode("latin-1")


class Response(Protocol):
    """A response whose head has come. Header names are in lower case; of repeated ones the first counts."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes:
        """The bytes that have come since the last read, at least one; b"" at the end. Raises `TransportError`."""
        ...

    @property
    def is_packed(self) -> bool:
        """Whether a content-encoding is named: the bytes may not be plain."""
        ...

    @property
    def done(self) -> bool:
        """Whether it is known that the last of it has come: what was read since then is the end, and nothing is held that
        closing it would give back."""
        ...

    async def aclose(self, *, whole: bool = False) -> None:
        """Give it up at any time, any number of times. An unfinished body is cancelled by closing the connection.

        `whole` says that nothing of interest is left: the connection may be kept if the peer ends the body promptly.
        """
        ...


Into = Callable[[bytes], bool]
"""Takes what came, b"" at the end, and says whether it takes more."""


@runtime_checkable
class Pours(Protocol):
    """A response that hands its bytes on in the instant in which they come."""

    async def pour(self, into: Into) -> None:
        """Until `into` takes no more. Raises `TransportError`, and what `into` raises."""
        ...


class Transport(Protocol):
    """Opens exchanges and owns their connections."""

    async def open(self, request: HttpRequest, connect_s: float, whole_s: float | None = None) -> Response:
        """Send, and wait for the head. Raises `TransportError`; when cancelled, the connection is closed.

        With `whole_s` the response has to be over in so many seconds from here on: after that, this and its reads raise
        `TransportError` of kind `late`. As all of a good answer is wanted then, it may be waited for here.
        """
        ...

    async def aclose(self) -> None: ...


def locate(url: str) -> tuple[Origin, str]:
    """Origin and path of a base URL, the path without a slash at its end. Raises ValueError.

    >>> locate("http://u:8000/v1/")
    (Origin(scheme='http', host='u', port=8000), '/v1')
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{url!r} is not an http:// or https:// address")
    if parts.username or parts.query or parts.fragment:
        raise ValueError("a base URL has no user, query or fragment")
    return Origin(parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]), parts.path.rstrip("/")
