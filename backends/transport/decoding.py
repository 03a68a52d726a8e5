"""Bodies with a content-encoding that nobody asked for, unpacked under a bound."""

import zlib
from collections.abc import Awaitable, Callable

from backends.transport.interface import Into, Pours, Response, TransportError

MAX_PIECE_BYTES = 16 * 1024 * 1024
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class BodyReader:
    """Reads a response's body as plain bytes: gzip and deflate are unpacked, anything else is refused by name.

    One read never unpacks to more than `max_piece` bytes: a bomb is an error, not a memory.
    """

    def __init__(self, response: Response, max_piece: int = MAX_PIECE_BYTES) -> None:
        self._response = response
        self._max_piece = max_piece
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        self._inflate = _inflater(encoding)

    async def read(self) -> bytes:
        """The next bytes, b"" at the end. Raises `TransportError`."""
        if self._inflate is None:
            return await self._response.read()
        while True:
            packed = await self._response.read()
            data = self._unpacked(packed)
            if data or not packed:
                return data

    async def pour(self, into: Into) -> None:
        """As `Pours` does, from any response."""
        if self._inflate is None and isinstance(self._response, Pours):
            return await self._response.pour(into)
        while into(await self.read()):
            pass
        return None

    def _unpacked(self, packed: bytes) -> bytes:
        assert self._inflate is not None
        if not packed:
            if not self._inflate.eof:
                raise TransportError("lost", "the upstream's packed answer ends in the middle", sent=True)
            return b""
        try:
            data = self._inflate.decompress(packed, self._max_piece)
        except zlib.error as error:
            raise TransportError("malformed", "the upstream's packed answer cannot be unpacked", sent=True) from error
        if self._inflate.unconsumed_tail:
            raise TransportError("malformed", f"a piece unpacks to more than {self._max_piece} bytes", sent=True)
        return data


async def read_whole(response: Response, max_bytes: int) -> bytes:
    """The whole body as plain bytes. Raises `TransportError` when there is more than `max_bytes`."""
    if response.is_packed:
        body = await _with_the_rest(b"", BodyReader(response).read, max_bytes)
    else:
        body = await response.read()
        if not response.done:
            body = await _with_the_rest(body, response.read, max_bytes)
    if len(body) > max_bytes:
        raise TransportError("malformed", f"the upstream's answer is larger than {max_bytes} bytes", sent=True)
    return body


async def _with_the_rest(begin: bytes, read: Callable[[], Awaitable[bytes]], max_bytes: int) -> bytes:
    """As far as it may go, and a piece beyond that."""
    pieces, size = [begin], len(begin)
    while size <= max_bytes and (piece := await read()):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _inflater(encoding: str) -> "zlib._Decompress | None":
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(_GZIP_OR_ZLIB)
    raise TransportError(
        "malformed", f"the upstream used content-encoding {encoding}, which was not asked for", sent=True
    )
