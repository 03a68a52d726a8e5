"""gzip and deflate, as they come in pieces, unpacked under a bound. What may follow what is as all other clients read it.

RFC 1952 section 2.2: a gzip body is one member or several, one after the other. RFC 9110 section 8.4.1.2: `deflate` is wrapped
as zlib does, and some servers send it bare.
"""

import zlib

from backends.transport.interface import TransportError

CODINGS = ("gzip", "x-gzip", "deflate")

GZIP_BEGINS = 0x1F
ZLIB_METHOD = 8
SLICE_BYTES = 4096
"""Looked at in one go: what is behind the end of a member is copied."""


class Inflater:
    """Of one body. It `is_whole` where it may end. What follows that and is no further member is left unread."""

    def __init__(self, coding: str, max_piece: int) -> None:
        self._coding = coding
        self._max_piece = max_piece
        self._member: zlib._Decompress | None = None
        self._is_gzip = self._ended = self.is_whole = False

    def unpack(self, packed: bytes) -> bytes:
        """What this piece holds. Raises `TransportError` where that is more than `max_piece` bytes, or is not packed so."""
        found = bytearray()
        at = 0
        try:
            while at < len(packed) and not self._ended:
                at += self._step(packed, at, found)
        except zlib.error as error:
            raise TransportError("malformed", "the upstream's packed answer cannot be unpacked", sent=True) from error
        return bytes(found)

    def _step(self, packed: bytes, at: int, found: bytearray) -> int:
        """How many bytes of it are read."""
        member = self._member or self._begin(packed[at])
        if member is None:
            return 0
        part = packed[at : at + SLICE_BYTES]
        room = self._max_piece - len(found)
        found += member.decompress(part, room + 1)
        if len(found) > self._max_piece or member.unconsumed_tail:
            raise TransportError("malformed", f"a piece unpacks to more than {self._max_piece} bytes", sent=True)
        if member.eof:
            self._member, self.is_whole = None, True
        return len(part) - len(member.unused_data)

    def _begin(self, first: int) -> "zlib._Decompress | None":
        """A member that begins with this byte; None where the last one was all."""
        if self.is_whole and not (self._is_gzip and first == GZIP_BEGINS):
            self._ended = True
            return None
        self._is_gzip, self.is_whole = first == GZIP_BEGINS, False
        is_bare = self._coding == "deflate" and not self._is_gzip and first & 0x0F != ZLIB_METHOD
        self._member = zlib.decompressobj(-zlib.MAX_WBITS if is_bare else 32 + zlib.MAX_WBITS)
        return self._member
