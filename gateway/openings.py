"""The first lines of answers, of which there are few: made once a second, when the date changes."""

import http


class Openings:
    """By status. `common` is what every answer carries, a new list when it changes."""

    def __init__(self) -> None:
        self._common: list[tuple[bytes, bytes]] = []
        self._known: dict[int, bytes] = {}

    def of(self, status: int, common: list[tuple[bytes, bytes]]) -> bytes:
        """
        >>> Openings().of(404, [(b"date", b"today")])
        b'HTTP/1.1 404 Not Found\\r\\ndate: today\\r\\n'
        """
        if common is not self._common:
            self._common = common
            self._known.clear()
        opening = self._known.get(status)
        if opening is None:
            lines = [b"%b: %b\r\n" % header for header in common]
            opening = self._known[status] = b"".join([status_line(status), *lines])
        return opening


def status_line(status: int) -> bytes:
    """
    >>> status_line(502), status_line(529)
    (b'HTTP/1.1 502 Bad Gateway\\r\\n', b'HTTP/1.1 529 \\r\\n')
    """
    known = status in http.HTTPStatus._value2member_map_
    return f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase if known else ''}\r\n".encode()
