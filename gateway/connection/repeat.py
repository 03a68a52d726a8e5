"""A head that reads as the one before it on its connection, but for the length of the body: clients that keep a connection
send the same again and again. Knows bytes; no parser, no socket.

A pattern is made of nothing but what the parser has accepted, so it says nothing that the parser would not say of the same
bytes: digits take the place of digits, and everything else is the same.
"""

from gateway.request.head import Head

LONGEST = 4_096
"""Bytes of a head that is kept, for as long as its connection."""

DIGITS = 9
"""The most of a length that is read here. No number of so many overflows anywhere."""

LENGTH = "content-length"
CODING = "transfer-encoding"
END = b"\r\n\r\n"


class Repeat:
    """What stands before the digits of the length, and behind them to the end of the head."""

    __slots__ = ("_after", "_before", "_digits", "_head")

    def __init__(self, head: Head, before: bytes, digits: int, after: bytes) -> None:
        self._head = head
        self._before, self._digits, self._after = before, digits, after

    def found_in(self, data: bytes) -> tuple[Head, bytes, int] | None:
        """The head, what came of its body, and how many bytes of that did not come yet. None where `data` is anything else, or
        more than that."""
        before, after = self._before, self._after
        if not data.startswith(before):
            return None
        start = len(before)
        end = data.find(b"\r", start, start + DIGITS + 1)
        digits = data[start:end]
        if end < 0 or not digits.isdigit() or not data.startswith(after, end):
            return None
        body = data[end + len(after) :]
        owed = int(digits) - len(body)
        if owed < 0:
            return None
        like = self._head
        headers = {**like.headers, LENGTH: digits.decode()}
        size = like.size + len(digits) - self._digits
        return Head(like.method, like.target, like.version, headers, like.again, size, like.passed), body, owed


def repeat_of(head: Head, data: bytes) -> Repeat | None:
    """`head` is what a parser that stood between two requests has read from `data`. None where that may be more than this one
    request, or its length is not a plain number.

    >>> head = Head(b"GET", b"/", "1.1", {"content-length": "2"}, [], 15)
    >>> repeat = repeat_of(head, b"GET / HTTP/1.1\\r\\ncontent-length: 2\\r\\n\\r\\nhi")
    >>> again, body, owed = repeat.found_in(b"GET / HTTP/1.1\\r\\ncontent-length: 12\\r\\n\\r\\nhello")
    >>> again.headers, body, owed
    ({'content-length': '12'}, b'hello', 7)
    """
    length = head.headers.get(LENGTH, "")
    if not is_plain(length) or CODING in head.headers or head.has_again(LENGTH):
        return None
    end = data.find(END, 0, LONGEST)
    raw = data[: end + len(END)]
    line = f"\r\n{LENGTH}: {length}\r\n".encode()
    at = raw.lower().find(line)
    if end < 0 or at < 0 or len(data) - len(raw) > int(length) or not has_plain_lines(raw):
        return None
    behind = at + len(line) - len(b"\r\n")
    return Repeat(head, raw[: behind - len(length)], len(length), raw[behind:])


def is_plain(length: str) -> bool:
    return length.isdecimal() and len(length) <= DIGITS


def has_plain_lines(raw: bytes) -> bool:
    """Whether each line ends as it should, so that nobody can see the end of the head anywhere else."""
    return raw.count(b"\n") == raw.count(b"\r") == raw.count(b"\r\n")
