"""A head that was heard before is heard the same again, whatever stands before, between and behind."""

from collections.abc import Sequence
from hashlib import sha256

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.connection.reader import TRIES, Reader
from gateway.connection.repeat import LONGEST, repeat_of
from gateway.errors import BadRequest, HeadersTooLarge, TooLarge, Unauthorised
from gateway.request.head import Head
from gateway.request.identity import Identity, KeyEntry
from gateway.request.ingress import refuse_early
from gateway.settings import Limits

POST = b"POST /v1/a HTTP/1.1\r\nhost: h\r\n"
ORDINARY = (
    POST + b"content-length: %(n)d\r\n\r\n",
    POST + b"Content-Length: %(n)d\r\nx-a: 1\r\nX-A: 2\r\n\r\n",
    POST + b"expect: 100-continue\r\ncontent-length: %(n)d\r\n\r\n",
)
ODD = (
    b"\r\n" + POST + b"content-length: %(n)d\r\n\r\n",
    POST + b"content-length: 00%(n)d\r\n\r\n",
    POST + b"content-length:%(n)d \r\n\r\n",
    POST + b"connection: close\r\ncontent-length: %(n)d\r\n\r\n",
    POST + b"connection: upgrade\r\nupgrade: h2c\r\ncontent-length: %(n)d\r\n\r\n",
    b"POST /v1/a HTTP/1.0\r\nconnection: keep-alive\r\ncontent-length: %(n)d\r\n\r\n",
    b"POST /v1/a HTTP/1.0\r\ncontent-length: %(n)d\r\n\r\n",
)
WRONG = (
    POST + b"content-length: +%(n)d\r\n\r\n",
    POST + b"content-length: -%(n)d\r\n\r\n",
    POST + b"content-length: %(n)d\r\ncontent-length: %(n)d\r\n\r\n",
    POST + b"content-length: %(n)d\r\ntransfer-encoding: chunked\r\n\r\n",
    POST + b"content-length: \xb2%(n)d\r\n\r\n",
    POST + b"content-length: 99999999999999999999%(n)d\r\n\r\n",
    POST + b"content-length: %(n)d\n\r\n",
    POST + b"content-length: %(n)d\r\n\n",
    POST + b"x: y\r\n content-length: %(n)d\r\n\r\n",
    b"POST /v1/a HTTP/1.1\nhost: h\ncontent-length: %(n)d\n\n",
)
BETWEEN = (
    *(b"", b"", b"", b"\r\n", b"\r", b"P", b"\0"),
    b"GET / HTTP/1.1\r\nhost: h\r\n\r\n",
    b"POST /t HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\ncontent-length: 1\r\n\r\n",
)

Heard = list[tuple[Head, bool] | bytes | None]
"""What was heard: heads, bodies joined, ends."""


class Listener:
    def __init__(self, most: int) -> None:
        self.heard: Heard = []
        self._left = most

    def asked(self, head: Head, *, keep_alive: bool, body: bytes | None = None) -> None:
        self.heard.append((head, keep_alive))
        self._left -= 1
        if self._left < 0:
            raise ValueError("no more")
        if body is not None:
            self.heard += [body, None] if body else [None]

    def said(self, data: bytes) -> None:
        before = self.heard[-1]
        if isinstance(before, bytes):
            self.heard[-1] = before + data
        else:
            self.heard.append(data)

    def ended(self) -> None:
        self.heard.append(None)

    @property
    def heads(self) -> list[Head]:
        return [one[0] for one in self.heard if isinstance(one, tuple)]


def whole(length: int = 5, head: bytes = ORDINARY[0]) -> bytes:
    return head % {b"n": length} + b"x" * length


@st.composite
def segments(draw: st.DrawFn, heads: Sequence[bytes]) -> list[bytes]:
    """Requests of few heads, each in one piece, in head and body, cut anywhere, or together with what comes next."""
    few = [draw(st.sampled_from(ORDINARY)), draw(st.sampled_from(heads))]
    pieces, held = [], b""
    for _ in range(draw(st.integers(2, 8))):
        head, length = draw(st.sampled_from(few)), draw(st.integers(0, 12))
        wire = held + whole(length, head) + draw(st.sampled_from(BETWEEN))
        held = b""
        match draw(st.sampled_from(("whole", "whole", "apart", "anywhere", "with the next"))):
            case "whole":
                pieces.append(wire)
            case "with the next":
                held = wire
            case way:
                at = wire.find(b"\r\n\r\n") + 4 if way == "apart" else draw(st.integers(1, len(wire) - 1))
                pieces += [wire[:at], wire[at:]]
    return [piece for piece in (*pieces, held) if piece]


def same_however_it_is_told(pieces: Sequence[bytes], most: int) -> None:
    """A reader that gets one byte at a time never has a head in one piece, so it remembers none."""
    told, forgetful = Listener(most), Listener(most)
    reader, bytewise = Reader(told), Reader(forgetful)
    for piece in pieces:
        is_http = fed(reader, [piece])
        assert is_http == fed(bytewise, [piece[at : at + 1] for at in range(len(piece))])
        assert told.heard == forgetful.heard
        assert not is_http or (reader.awaits_head, reader.target) == (bytewise.awaits_head, bytewise.target)


def fed(reader: Reader, pieces: Sequence[bytes]) -> bool:
    """Whether it was HTTP."""
    try:
        for piece in pieces:
            reader.feed(piece)
    except httptools.HttpParserError:
        return False
    return True


@given(segments(ORDINARY), st.integers(1, 9))
def test_ordinary_heads_are_heard_as_by_who_remembers_none(pieces: list[bytes], most: int) -> None:
    same_however_it_is_told(pieces, most)


@settings(max_examples=300)
@given(segments((*ORDINARY, *ODD, *WRONG)), st.integers(1, 9))
def test_strange_heads_are_heard_as_by_who_remembers_none(pieces: list[bytes], most: int) -> None:
    same_however_it_is_told(pieces, most)


@pytest.mark.parametrize("head", [*ORDINARY, *ODD, *WRONG])
def test_a_head_said_three_times_is_heard_as_by_who_remembers_none(head: bytes) -> None:
    same_however_it_is_told([whole(5, head)] * 3, most=9)


@pytest.mark.parametrize("most", [1, 2])
def test_who_hears_no_more_is_told_no_more(most: int) -> None:
    same_however_it_is_told([whole()] * 5, most)


@given(st.sampled_from(ORDINARY), st.data())
def test_a_head_with_a_byte_changed_is_heard_as_by_who_remembers_none(head: bytes, data: st.DataObject) -> None:
    wire = bytearray(whole(5, head))
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.sampled_from(b"\r\n\0 :0129azP+-\xb2"))

    same_however_it_is_told([whole(5, head), bytes(wire), whole(5, head)], most=9)


@pytest.mark.parametrize(
    "length",
    [
        b"+5",
        b"-5",
        b" 5",
        b"5 ",
        b"5\t",
        b"5_0",
        b"0x5",
        b"",
        b"\xb25",
        b"1e1",
        b"05",
        b"5, 5",
        b"5\r\nx: 5",
        b"5" * 30,
    ],
)
def test_a_length_that_is_not_plain_is_heard_as_by_who_remembers_none(length: bytes) -> None:
    odd = whole().replace(b": 5\r", b": " + length + b"\r")

    same_however_it_is_told([whole(), odd, whole(), odd + whole()], most=9)


INSIDE = ORDINARY[0] % {b"n": len(whole())}
"""The head of a body that is a request."""


@pytest.mark.parametrize(
    "pieces",
    [
        [INSIDE, whole(), whole()],
        [INSIDE + whole(), INSIDE, whole(), whole()],
        [INSIDE + whole(), INSIDE, whole() + whole(), whole()],
        [INSIDE, whole()[:9], whole()[9:] + b"P", whole()],
        [b"P", whole()[1:], whole()[1:]],
        [whole(), b"\r", whole(), b"\n" + whole(), b"\n" + whole()],
        [whole() + b"\r\n", whole(), whole() + b"P", whole()[1:], whole()],
    ],
)
def test_a_body_that_reads_as_a_request_is_a_body(pieces: list[bytes]) -> None:
    same_however_it_is_told(pieces, most=9)


@pytest.mark.parametrize("cut", [len(whole()), len(whole()) - 2], ids=["whole", "without its end"])
def test_what_stood_between_two_requests_is_no_begin_of_the_third(cut: int) -> None:
    reader = Reader(Listener(9))
    for piece in (whole(), b"\r\n", whole()[:cut], whole()[cut:]):
        reader.feed(piece)

    assert (reader.awaits_head, reader.head_bytes) == (True, 0)


@pytest.mark.parametrize(
    ("framing", "headers", "again"),
    [
        (b"content-length: 5\r\nx: y", {}, []),
        (b"content-length: 5\nx: y", {}, []),
        (b"x: y\r\r\ncontent-length: 5", {}, []),
        (b"content-length: 5\r\ncontent-length: 5", {}, [("content-length", "5")]),
        (b"content-length: 5\r\ntransfer-encoding: x", {"transfer-encoding": "x"}, []),
        (b"content-length:  5", {}, []),
    ],
)
def test_a_pattern_is_made_of_one_plain_length_whatever_a_parser_lets_pass(
    framing: bytes, headers: dict[str, str], again: list[tuple[str, str]]
) -> None:
    head = Head(b"POST", b"/v1/a", "1.1", {"host": "h", "content-length": "5", **headers}, again, 20)

    is_plain = repeat_of(head, POST + framing + b"\r\n\r\nxxxxx") is not None

    assert is_plain == (framing == b"content-length: 5\r\nx: y")


@pytest.mark.parametrize("head", [*ORDINARY, ODD[0], ODD[1]])
def test_heads_that_read_alike_share_what_they_passed(head: bytes) -> None:
    told = Listener(9)
    reader = Reader(told)
    for length, cut in ((5, None), (0, None), (123, None), (7, -3), (99, -99)):
        wire = whole(length, head)
        fed(reader, [wire] if cut is None else [wire[:cut], wire[cut:]])

    first, *others = told.heads
    assert len(others) == 4
    assert all(head.passed is first.passed for head in others)


@pytest.mark.parametrize(
    "between",
    [
        whole(5, POST + b"x: y\r\ncontent-length: %(n)d\r\n\r\n"),
        b"GET / HTTP/1.1\r\nhost: h\r\n\r\n",
        POST + b"x: " + b"x" * LONGEST + b"\r\ncontent-length: 0\r\n\r\n",
    ],
)
def test_another_head_between_them_is_all_that_is_remembered(between: bytes) -> None:
    told = Listener(9)
    fed(Reader(told), [whole(), between, whole()])

    first, _, third = told.heads
    assert (first, first.passed is third.passed) == (third, False)


@pytest.mark.parametrize(("changes", "is_kept"), [(TRIES - 1, True), (TRIES, False)])
def test_where_heads_change_none_is_kept_after_some_tries(changes: int, is_kept: bool) -> None:
    traced = [whole(5, ORDINARY[0].replace(b"host: h", b"host: %d" % number)) for number in range(changes)]
    told = Listener(99)
    fed(Reader(told), [*traced, whole(), whole()])

    *_, first, second = told.heads
    assert (first.passed is second.passed) == is_kept


def test_what_is_not_http_ends_it_for_heads_that_were_heard_too() -> None:
    told = Listener(9)
    reader = Reader(told)

    assert [fed(reader, [piece]) for piece in (whole(), b"\0", whole())] == [True, False, False]
    assert len(told.heads) == 1


def test_a_key_that_was_withdrawn_opens_nothing_on_a_connection_that_used_it() -> None:
    keyed = POST + b"authorization: Bearer k1\r\ncontent-length: %(n)d\r\n\r\n"
    told = Listener(9)
    fed(Reader(told), [whole(5, keyed), whole(6, keyed), whole(7, keyed)])
    known = [KeyEntry(hash=sha256(b"k1").hexdigest(), tenant="t")]
    before, moved = Identity(known), Identity([known[0].model_copy(update={"tenant": "u"})])
    first, second, third = told.heads

    assert [before.holder(head).tenant for head in (first, second)] == ["t", "t"]
    assert moved.holder(second).tenant == "u"
    with pytest.raises(Unauthorised):
        Identity([], requires_key=True).holder(third)
    with pytest.raises(Unauthorised):
        Identity([], requires_key=True).holder(third)


def test_the_length_of_a_body_is_looked_at_each_time_and_all_else_by_other_limits() -> None:
    told = Listener(9)
    fed(Reader(told), [whole(5), whole(6), whole(10)])
    small, second, large = told.heads
    limits = Limits(body_bytes=6, header_bytes=small.size)

    refuse_early(small, limits)
    refuse_early(second, limits)
    with pytest.raises(HeadersTooLarge):
        refuse_early(large, limits)
    with pytest.raises(TooLarge):
        refuse_early(large, Limits(body_bytes=6))
    with pytest.raises(HeadersTooLarge):
        refuse_early(second, Limits(headers=1))


def test_what_was_refused_once_is_refused_again() -> None:
    told = Listener(9)
    fed(Reader(told), [whole(5, POST.replace(b"host: h", b"host: h/h") + b"content-length: %(n)d\r\n\r\n")] * 2)
    limits = Limits()

    for head in told.heads:
        with pytest.raises(BadRequest):
            refuse_early(head, limits)
