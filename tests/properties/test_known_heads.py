"""Whether an answer's head was parsed or known by its form, what is told of the answer is the same."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.transport.connection import Connection
from backends.transport.exchange import Bounds
from backends.transport.heads import MOST_LOOKS, Heads
from backends.transport.interface import TransportError

PLAIN = (b"date", b"Server", b"content-type", b"X-Request-Id", b"keep-alive", b"trailer")
TELLING = (b"connection", b"Proxy-Connection", b"transfer-encoding", b"upgrade", b"content-encoding", b"content-length")
VALUES = (
    b"",
    b"a",
    b" a b ",
    b"close",
    b"keep-alive",
    b"chunked",
    b"gzip",
    b"h2c",
    b"5",
    b"close, a",
    b"\xe9",
    b"a\tb",
)
SPOILT = (b"\x00", b"a\rb", b"a\n b", b"\x7f", b"a\r\n folded")
AFTER = (b"", b"", b"", b"\r\n", b"H", b"x", b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

odd = st.one_of(st.sampled_from(VALUES), st.sampled_from(SPOILT), st.binary(max_size=6))
lengths = st.sampled_from([b"%d", b"0%d", b" %d", b"%d ", b"%d, %d", b"+%d", b"1%d"])


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Nothing runs in it."""
    made = asyncio.new_event_loop()
    yield made
    made.close()


class Sink(asyncio.Transport):
    """Where requests go."""

    def write(self, data: object) -> None: ...

    def abort(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Kept:
    """Whose connection it is; it notes what it gets back."""

    def __init__(self) -> None:
        self.kept: list[bool] = []

    def release(self, connection: Connection, *, keep: bool) -> None:
        self.kept.append(keep)

    def lost(self, connection: Connection) -> None: ...


def told(loop: asyncio.AbstractEventLoop, wire: bytes, cuts: list[int], heads: Heads) -> tuple[object, ...]:
    """All that the reader of an answer hears, and whether the connection may carry another one."""
    keeper = Kept()
    connection = Connection(Bounds(), keeper, loop, heads)
    connection.connection_made(Sink())
    exchange = connection.send(b"")
    for begin, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        if begin < end:
            connection.data_received(wire[begin:end])
    pieces = b"".join(exchange.pieces)
    done, status, headers = exchange.done, exchange.status, dict(exchange.headers)
    connection.connection_lost(None)
    failure = exchange.head.exception() if exchange.head.done() else None
    kind = failure.kind if isinstance(failure, TransportError) else None
    return status, headers, pieces, done, exchange.done, exchange.is_packed, kind, keeper.kept


@st.composite
def answers(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two answers of one server, the second much like the first, or not."""
    names = draw(st.lists(st.sampled_from(PLAIN), max_size=4))
    extra = draw(st.lists(st.sampled_from(TELLING), max_size=2))
    names = draw(st.permutations([*names, *extra, b"Content-Length"]))
    first = [(name, draw(st.sampled_from(VALUES))) for name in names]
    alike = [(name, value if draw(st.booleans()) else draw(odd)) for name, value in first]
    return _wire(draw, first, b"%d", b""), _wire(draw, alike, draw(lengths), draw(st.sampled_from(AFTER)))


def _wire(draw: st.DrawFn, lines: list[tuple[bytes, bytes]], length: bytes, after: bytes) -> bytes:
    body = draw(st.binary(max_size=12))
    stated = length.replace(b"%d", b"%d" % len(body))
    text = b"".join(b"%b: %b\r\n" % (n, stated if n == b"Content-Length" else v) for n, v in lines)
    first = draw(st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 204 No"]))
    return b"%b\r\n%b\r\n%b%b" % (first, text, body, after)


@given(answers(), st.lists(st.integers(0, 200), max_size=3))
def test_what_is_told_of_an_answer_hangs_on_no_answer_before_it(
    loop: asyncio.AbstractEventLoop, two: tuple[bytes, bytes], at: list[int]
) -> None:
    first, second = two
    cuts = sorted(cut for cut in at if cut < len(second))
    heads = Heads()
    told(loop, first, [], heads)

    assert told(loop, second, cuts, heads) == told(loop, second, cuts, Heads())


USUAL = (
    b"HTTP/1.1 200 OK\r\ndate: %b\r\nserver: uvicorn\r\ncontent-length: %d\r\ncontent-type: application/json\r\n\r\n%b"
)
ONE = USUAL % (b"Mon, 30 Nov 2026 08:03:31 GMT", 2, b"{}")
OTHER = USUAL % (b"Tue, 01 Dec 2026 00:00:00 GMT", 12, b'{"a":"b c d"')


@pytest.mark.parametrize("cut", range(1, len(OTHER)))
def test_an_answer_cut_anywhere_is_told_alike_where_its_head_is_known(
    loop: asyncio.AbstractEventLoop, cut: int
) -> None:
    heads = Heads()
    told(loop, ONE, [], heads)

    assert heads.match is not None
    assert heads.match(OTHER) is not None
    for after in set(AFTER):
        assert told(loop, OTHER + after, [cut], heads) == told(loop, OTHER + after, [cut], Heads())


@pytest.mark.parametrize("name", [*PLAIN, *TELLING])
@pytest.mark.parametrize("value", [*VALUES, *SPOILT])
def test_no_value_makes_a_known_head_say_what_it_does_not(
    loop: asyncio.AbstractEventLoop, name: bytes, value: bytes
) -> None:
    heads = Heads()
    for usual in (b"keep-alive", b"trailers"):
        told(loop, ONE.replace(b"server: uvicorn", name + b": " + usual), [], heads)
        other = OTHER.replace(b"server: uvicorn", name + b": " + value)

        assert told(loop, other, [], heads) == told(loop, other, [], Heads())


def unlearnable() -> Iterator[bytes]:
    for line in (b"transfer-encoding: chunked", b"content-encoding: gzip", b"connection: close", b"upgrade: h2c"):
        yield ONE.replace(b"server: uvicorn", line)
    yield ONE.replace(b"server: uvicorn", b"server: uvicorn\r\n and more")
    yield ONE.replace(b"content-length: 2", b"x-length: 2")
    yield ONE.replace(b"200 OK", b"429 Too Many Requests")
    yield ONE.replace(b"server: uvicorn", b"Content-Length: 2")
    yield ONE.removesuffix(b"{}").replace(b"200 OK", b"103 Early Hints") + ONE
    yield b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n" + ONE


@pytest.mark.parametrize("wire", list(unlearnable()))
def test_only_plain_answers_of_a_stated_length_are_known_again(loop: asyncio.AbstractEventLoop, wire: bytes) -> None:
    heads = Heads()

    told(loop, wire, [], heads)

    assert heads.match is None


def test_who_writes_another_head_each_time_is_not_looked_at_for_ever(loop: asyncio.AbstractEventLoop) -> None:
    heads, patterns = Heads(), set()

    for number in range(2 * MOST_LOOKS):
        told(loop, ONE.replace(b"server", b"server-%d" % number), [], heads)
        patterns.add(heads.match)

    assert len(patterns) == MOST_LOOKS
