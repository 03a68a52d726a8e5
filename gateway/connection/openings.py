"""The first lines of answers, of which there are few: made once a second, when the date changes."""

import http
from collections.abc import Sequence


class Openings(dict[int, bytes]):
    """By status: its line, and what every answer carries.

    >>> openings = Openings()
    >>> openings.carry([(b"date", b"today")])
    >>> openings[404]
    b'HTTP/1.1 404 Not Found\\r\\ndate: today\\r\\n'
    """

    carried: Sequence[tuple[bytes, bytes]] = ()

    def carry(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.carried = headers
        self.clear()

    def __missing__(self, status: int) -> bytes:
        lines = [b"%b: %b\r\n" % header for header in self.carried]
        opening = self[status] = b"".join([status_line(status), *lines])
        return opening


def status_line(status: int) -> bytes:
    """
    >>> status_line(502), status_line(529)
    (b'HTTP/1.1 502 Bad Gateway\\r\\n', b'HTTP/1.1 529 \\r\\n')
    """
    known = status in http.HTTPStatus._value2member_map_
    return f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase if known else ''}\r\n".encode()
