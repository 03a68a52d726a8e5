"""Bodies with a content-encoding that nobody asked for, unpacked under a bound."""

from collections.abc import Awaitable, Callable

from backends.transport.inflating import CODINGS, Inflater
from backends.transport.interface import Into, Pours, Response, TransportError

MAX_PIECE_BYTES = 16 * 1024 * 1024
BOM = b"\xef\xbb\xbf"


class BodyReader:
    """Reads a response's body as plain bytes: gzip and deflate are unpacked, anything else is refused by name.

    One read never unpacks to more than `max_piece` bytes: a bomb is an error, not a memory.
    """

    def __init__(self, response: Response, max_piece: int = MAX_PIECE_BYTES) -> None:
        self.response = response
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        self._inflate = _inflater(encoding, max_piece)
        self._held = b""

    async def begin(self, enough: int) -> bytes:
        """How the body begins, as far as `enough` bytes are concerned. They are read again. Raises `TransportError`."""
        while len(self._held) < enough and (data := await self._next()):
            self._held += data
        return self._held[:enough]

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. Raises `TransportError`."""
        if self._held:
            held, self._held = self._held, b""
            return held
        return await self._next()

    async def pour(self, into: Into) -> None:
        """As `Pours` does, from any response."""
        if self._held and not into(await self.read()):
            return None
        if self._inflate is None and isinstance(self.response, Pours):
            return await self.response.pour(into)
        while into(await self.read()):
            pass
        return None

    async def _next(self) -> bytes:
        if self._inflate is None:
            return await self.response.read()
        while packed := await self.response.read():
            if data := self._inflate.unpack(packed):
                return data
        if not self._inflate.is_whole:
            raise TransportError("lost", "the upstream's packed answer ends in the middle", sent=True)
        return b""


async def read_whole(response: Response, max_bytes: int, reader: BodyReader | None = None) -> bytes:
    """The whole body as plain bytes, from a `reader` that has begun where there is one. All that is read here is text, and RFC
    8259 section 8.1 lets its readers leave out a mark of the byte order. Raises `TransportError` when there is more than
    `max_bytes`."""
    if response.is_packed or reader is not None:
        body = await _with_the_rest(b"", (reader or BodyReader(response)).read, max_bytes)
    else:
        body = await response.read()
        if not response.done:
            body = await _with_the_rest(body, response.read, max_bytes)
    if len(body) > max_bytes:
        raise TransportError("malformed", f"the upstream's answer is larger than {max_bytes} bytes", sent=True)
    return body.removeprefix(BOM)


async def _with_the_rest(begin: bytes, read: Callable[[], Awaitable[bytes]], max_bytes: int) -> bytes:
    """As far as it may go, and a piece beyond that."""
    pieces, size = [begin], len(begin)
    while size <= max_bytes and (piece := await read()):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _inflater(encoding: str, max_piece: int) -> Inflater | None:
    if encoding in ("", "identity"):
        return None
    if encoding in CODINGS:
        return Inflater(encoding, max_piece)
    raise TransportError(
        "malformed", f"the upstream used content-encoding {encoding}, which was not asked for", sent=True
    )
