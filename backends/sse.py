"""Event-stream codec: bytes in, events out, whatever the cuts between reads.

Follows the WHATWG event-stream grammar: only LF, CR and CRLF end a line (never U+2028 or U+0085), a leading BOM is
skipped, comments vanish, several `data` lines are joined by LF, and an event that no blank line ended is dropped.
`id` and `retry` are read over: a chat stream has no use for them.
"""

import msgspec

BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 8 * 1024 * 1024


class EventTooLarge(ValueError):
    """One event outgrew the bound of its decoder."""


class ServerEvent(msgspec.Struct, frozen=True):
    """`data` as bytes, the line ends between its lines as LF; `name` is the `event` field, or empty."""

    data: bytes
    name: bytes = b""


class Decoder:
    """Feed it reads of any size; each call returns the events that became whole.

    >>> decoder = Decoder()
    >>> decoder.feed(b"data: 1\\r"), decoder.feed(b"\\n\\r\\n")
    ([], [ServerEvent(data=b'1', name=b'')])
    """

    __slots__ = ("_data", "_held", "_max_bytes", "_name", "_rest", "_size", "_skip_lf", "_started")

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._rest = bytearray()
        self._held = b""
        self._data: list[bytes] | None = None
        self._size = 0
        self._name = b""
        self._skip_lf = False
        self._started = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Raises `EventTooLarge` when an event, or a line, holds more than `max_bytes`."""
        if self._is_between and is_one_event(chunk) and len(chunk) <= self._max_bytes:
            return [ServerEvent(chunk[6:-2])]
        chunk = self._with_lf_only(chunk if self._started else self._without_bom(chunk))
        if b"\n" not in chunk:
            self._rest += chunk
            self._check(len(self._rest))
            return []
        first, *lines = chunk.split(b"\n")
        last = lines.pop()
        events: list[ServerEvent] = []
        self._line(bytes(self._rest + first) if self._rest else first, events)
        for line in lines:
            self._line(line, events)
        self._rest = bytearray(last)
        self._check(len(last))
        return events

    @property
    def _is_between(self) -> bool:
        """Nothing of an event has come."""
        return self._started and not self._rest and self._data is None and not self._skip_lf and not self._name

    def _without_bom(self, chunk: bytes) -> bytes:
        chunk, self._held = self._held + chunk, b""
        if len(chunk) < len(BOM) and BOM.startswith(chunk):
            self._held = chunk
            return b""
        self._started = True
        return chunk.removeprefix(BOM)

    def _with_lf_only(self, chunk: bytes) -> bytes:
        if not chunk:
            return chunk
        if self._skip_lf:
            chunk = chunk.removeprefix(b"\n")
            self._skip_lf = False
        if b"\r" in chunk:
            self._skip_lf = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _line(self, line: bytes, events: list[ServerEvent]) -> None:
        if not line:
            if self._data is not None:
                events.append(ServerEvent(b"\n".join(self._data), self._name))
            self._data, self._size, self._name = None, 0, b""
            return
        field, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if field == b"data":
            self._check(len(value))
            self._size += len(value) + 1
            if self._data is None:
                self._data = []
            self._data.append(value)
        elif field == b"event":
            self._name = value

    def _check(self, more: int) -> None:
        if self._size + more > self._max_bytes:
            raise EventTooLarge(f"an event of the stream is larger than {self._max_bytes} bytes")


def is_one_event(chunk: bytes) -> bool:
    r"""Whether it is one event of one line, as nearly all that come are.

    >>> is_one_event(b"data: {}\n\n"), is_one_event(b"data: {}\r\n\r\n")
    (True, False)
    """
    return chunk.endswith(b"\n\n") and chunk.startswith(b"data: ") and chunk.count(b"\n") == 2 and b"\r" not in chunk


BEGINS = (b"data:", b"event:", b"id:", b"retry:", b":")
ENOUGH_BYTES = 16
"""Of a body, to see whether it is a stream of events."""


def begins_as_stream(body: bytes) -> bool:
    """Whatever its type is said to be.

    >>> begins_as_stream(b"data: {}"), begins_as_stream(b'{"data": 1}'), begins_as_stream(b"<html>")
    (True, False, False)
    """
    return body.removeprefix(BOM).lstrip(b"\r\n").startswith(BEGINS)


def encode(data: bytes, name: bytes = b"") -> bytes:
    """One event. Line ends inside `data` (JSON has none) become lines of their own; they are read back as LF.

    >>> encode(b"{}")
    b'data: {}\\n\\n'
    """
    head = b"event: " + name + b"\n" if name else b""
    if b"\n" in data or b"\r" in data:
        lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        return head + b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"
    return head + b"data: " + data + b"\n\n"


KEEP_ALIVE = b": keep-alive\n\n"
"""A comment: it resets idle timers on the way and is no event to anybody."""
