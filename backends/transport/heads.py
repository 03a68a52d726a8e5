"""Heads of answers that differ from an earlier one in their values alone, and so need not be parsed again.

A server writes one head over and over, with another date, length or id in it. The parser looks into the values of few headers
(`FRAMING`); what it made of such a head holds for every head with the same first line and the same names in the same order.
"""

import re
from collections.abc import Callable

OK = 200
STATUS = slice(len(b"HTTP/1.1 "), len(b"HTTP/1.1 200"))
"""Where it stands."""

LENGTH = b"content-length"
CODED = frozenset((b"transfer-encoding", b"upgrade", b"content-encoding"))
FRAMING = frozenset((LENGTH, *CODED, b"connection", b"proxy-connection"))
"""Whose values say what comes behind the head."""

_VALUE = rb"[\t\x20-\x7e\x80-\xff]*"
_DIGITS = rb"([0-9]{1,15})"

MOST_LOOKS = 32
"""At heads of one origin that were of no known form. Who has another one each time is not looked at any longer."""

Line = tuple[bytes, bytes]


class Heads:
    """Of one origin. `match` finds, at the begin of what came, a head of the form that was learnt last, and the length of the
    body as its first group; `status` is its status. No head is learnt whose body is in a coding, or behind which no other may
    follow."""

    __slots__ = ("_looks", "match", "status")

    def __init__(self) -> None:
        self._looks = 0
        self.match: Callable[[bytes], re.Match[bytes] | None] | None = None
        self.status = 0

    def learn(self, data: bytes, status: int, lines: list[Line]) -> None:
        """From the head that `data` begins with, and what the parser made of it. Before that of the answer there may be another
        one, of an interim answer."""
        if self._looks < MOST_LOOKS:
            self._looks += 1
            form = form_of(data, lines)
            if status == OK and form is not None and data[STATUS] == b"%d" % OK:
                self.match, self.status = form.match, status


def form_of(data: bytes, lines: list[Line]) -> re.Pattern[bytes] | None:
    r"""A head with room for other values. None where it is not written plainly, or no body of a stated length is behind it.

    >>> form = form_of(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", [(b"content-length", b"2")])
    >>> form.match(b"HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n")[1]
    b'17'
    """
    names = [name.lower() for name, _ in lines]
    if lines_of(data) != lines or names.count(LENGTH) != 1 or not CODED.isdisjoint(names):
        return None
    first, *written = head_of(data)
    rooms = [_room(line, name, value) for line, (name, value) in zip(written, lines, strict=True)]
    return re.compile(b"\r\n".join([re.escape(first), *rooms, b"", b""]))


def lines_of(data: bytes) -> list[Line]:
    """The headers of a plain head, as the parser tells them."""
    found = [line.partition(b":") for line in head_of(data)[1:]]
    return [(name, value.lstrip(b" \t")) for name, _, value in found]


def head_of(data: bytes) -> list[bytes]:
    return data.partition(b"\r\n\r\n")[0].split(b"\r\n")


def _room(line: bytes, name: bytes, value: bytes) -> bytes:
    lower = name.lower()
    if lower == LENGTH:
        return re.escape(line.removesuffix(value)) + _DIGITS
    return re.escape(line) if lower in FRAMING else re.escape(name) + b":" + _VALUE
