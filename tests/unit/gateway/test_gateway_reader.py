"""From bytes to requests: however they are cut, whatever is offered with them, and nothing of one in the next."""

import itertools

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.connection.reader import Reader
from gateway.request.head import Head

PLAIN = b"POST /v1/a?b=c HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello"
TRAILED = (
    b"POST /t HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n0\r\nauthorization: Bearer stolen\r\n\r\n"
)
OFFERED = (
    b"POST /u HTTP/1.1\r\nhost: h\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n"
    b"http2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\ncontent-length: 5\r\n\r\nhello"
)


class Heard:
    def __init__(self) -> None:
        self.heads: list[Head] = []
        self.keeps: list[bool] = []
        self.bodies: list[bytes] = []
        self.ends = 0

    def asked(self, head: Head, *, keep_alive: bool, body: bytes | None = None) -> None:
        self.heads.append(head)
        self.keeps.append(keep_alive)
        self.bodies.append(body or b"")
        self.ends += body is not None

    def said(self, data: bytes) -> None:
        self.bodies[-1] += data

    def ended(self) -> None:
        self.ends += 1


def read(*pieces: bytes) -> Heard:
    heard = Heard()
    reader = Reader(heard)
    for piece in pieces:
        reader.feed(piece)
    return heard


def test_a_head_is_read_by_lower_case_names_and_knows_what_came_again() -> None:
    (head,) = read(PLAIN).heads

    assert (head.method, head.path, head.query, head.version) == (b"POST", b"/v1/a", b"b=c", "1.1")
    assert head.headers == {"host": "h", "x-a": "1", "content-length": "5"}
    assert head.again == [("x-a", "2")]
    assert (head.count, head.size) == (4, 28)
    assert head.lines()[-1] == (b"x-a", b"2")


@given(st.lists(st.integers(0, len(PLAIN + TRAILED + OFFERED + PLAIN)), max_size=6))
def test_requests_are_the_same_however_they_are_cut(cuts: list[int]) -> None:
    wire = PLAIN + TRAILED + OFFERED + PLAIN
    places = sorted({0, len(wire), *cuts})
    heard = read(*[wire[start:end] for start, end in itertools.pairwise(places)])

    assert [head.path for head in heard.heads] == [b"/v1/a", b"/t", b"/u", b"/v1/a"]
    assert heard.bodies == [b"hello"] * 4
    assert heard.ends == 4
    assert heard.heads[0] == heard.heads[3]
    assert "upgrade" not in heard.heads[2].headers


def test_what_comes_behind_a_body_is_no_header_of_the_next_request() -> None:
    heard = read(TRAILED + PLAIN)

    assert [sorted(head.headers) for head in heard.heads] == [
        ["host", "transfer-encoding"],
        ["content-length", "host", "x-a"],
    ]


def test_a_thousand_offers_in_one_piece_are_a_thousand_requests() -> None:
    heard = read(OFFERED * 1_000)

    assert len(heard.heads) == heard.ends == 1_000


def test_a_head_tells_how_far_it_has_come_until_it_is_whole() -> None:
    reader = Reader(Heard())

    reader.feed(PLAIN[:20])
    assert (reader.awaits_head, reader.head_bytes) == (True, 20)

    reader.feed(PLAIN[20:])
    assert (reader.awaits_head, reader.head_bytes) == (True, 0)


@pytest.mark.parametrize(
    "wire",
    [b"CONNECT h:443 HTTP/1.1\r\nhost: h\r\n\r\n", b"GET / HTTP/3.9\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n"],
)
def test_what_is_no_request_is_an_error_and_no_loop(wire: bytes) -> None:
    with pytest.raises(httptools.HttpParserError):
        read(wire)


@pytest.mark.parametrize(
    ("first", "extra", "keeps"),
    [(b"1.1", b"", True), (b"1.1", b"connection: close\r\n", False), (b"1.0", b"connection: keep-alive\r\n", False)],
)
def test_who_ends_its_connection_is_told_apart(first: bytes, extra: bytes, keeps: bool) -> None:
    assert read(b"GET / HTTP/" + first + b"\r\nhost: h\r\n" + extra + b"\r\n").keeps == [keeps]
