"""What every transport promises, over real sockets: failures told apart, cancellation that arrives, nothing added."""

import asyncio
import contextlib
import functools
import gzip
import socket
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

import httpx
import msgspec
import pytest
import uvloop
from servers.virtual_time import VirtualLoop, run_virtual
from upstreams.fake_upstream import (
    DONE,
    Cut,
    FakeUpstream,
    Reply,
    Until,
    chat_answer,
    event,
    fake_upstream,
    json_reply,
    sse_reply,
    text_chunk,
    unused_port,
)

from backends.transport import FastTransport, HttpRequest, PoolLimits, Transport, TransportError, locate
from backends.transport.connection import Connection, connect
from backends.transport.decoding import BodyReader, read_whole
from backends.transport.exchange import Bounds
from backends.transport.fast import serialise
from backends.transport.interface import Origin, opening_of
from backends.transport.over_httpx import HttpxTransport
from backends.transport.pool import Pool

MAKERS: list[Callable[[], Transport]] = [FastTransport, HttpxTransport]


@pytest.fixture(params=MAKERS, ids=["fast", "httpx"])
async def transport(request: pytest.FixtureRequest) -> AsyncIterator[Transport]:
    made: Transport = request.param()
    yield made
    await made.aclose()


@pytest.fixture
async def fast() -> AsyncIterator[FastTransport]:
    made = FastTransport()
    yield made
    await made.aclose()


def post(upstream: FakeUpstream, *headers: tuple[str, str], body: bytes = b"{}") -> HttpRequest:
    return HttpRequest("POST", locate(upstream.base)[0], "/v1/x", headers, body)


async def body_of(transport: Transport, request: HttpRequest, whole_s: float | None = None) -> bytes:
    response = await transport.open(request, 1.0, whole_s)
    try:
        return await read_whole(response, 1 << 20)
    finally:
        await response.aclose()


async def test_a_whole_answer_comes_back_and_its_connection_is_used_again(transport: Transport) -> None:
    async with fake_upstream(json_reply({"a": 1})) as upstream:
        bodies = [await body_of(transport, post(upstream)) for _ in range(3)]

        assert bodies == [b'{"a":1}'] * 3
        assert upstream.connections == 1


async def test_the_header_set_is_exactly_what_was_given(transport: Transport) -> None:
    async with fake_upstream(json_reply({}, headers=[("set-cookie", "s=1")])) as upstream:
        for _ in range(2):
            await body_of(transport, post(upstream, ("x-a", "1"), body=b"12345"))

        names = sorted(name for name, _ in upstream.last.headers)
        assert names == ["content-length", "host", "x-a"]
        assert upstream.last.header("content-length") == "5"


async def test_a_redirect_is_an_answer_like_any_other(transport: Transport) -> None:
    async with fake_upstream(json_reply({}, 307, [("location", "/elsewhere")])) as upstream:
        response = await transport.open(post(upstream), 1.0)
        await response.aclose()

        assert response.status == 307
        assert len(upstream.received) == 1


async def test_a_proxy_of_the_environment_is_not_asked(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    async with fake_upstream(json_reply({})) as upstream, fake_upstream(json_reply({"proxied": True})) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base)
        monkeypatch.setenv("ALL_PROXY", proxy.base)
        made = type(transport)()
        assert await body_of(made, post(upstream)) == b"{}"
        await made.aclose()

        assert proxy.received == []


async def test_the_transport_over_httpx_reaches_an_app_without_a_socket() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-path", scope["raw_path"])]})
        await send({"type": "http.response.body", "body": b"in process"})

    transport = HttpxTransport(httpx.ASGITransport(app))
    response = await transport.open(HttpRequest("POST", locate("http://app")[0], "/v1/x"), 1.0)

    assert (response.headers["x-path"], await response.read()) == ("/v1/x", b"in process")


async def test_a_refused_connection_is_known_not_to_have_been_sent(transport: Transport) -> None:
    request = HttpRequest("POST", locate(f"http://127.0.0.1:{unused_port()}")[0], "/")

    with pytest.raises(TransportError) as failure:
        await transport.open(request, 1.0)

    assert (failure.value.kind, failure.value.sent) == ("unreachable", False)


@pytest.mark.parametrize("how", [Cut.EOF, Cut.RESET])
@pytest.mark.parametrize("before", [(), (b"HTTP/1.1 200 OK\r\ncontent-le",)], ids=["nothing", "half a head"])
async def test_a_request_without_an_answer_may_have_been_done(
    transport: Transport, how: Cut, before: tuple[bytes, ...]
) -> None:
    async with fake_upstream(Reply((*before, how), framing="raw")) as upstream:
        with pytest.raises(TransportError) as failure:
            await body_of(transport, post(upstream))

        assert (failure.value.kind, failure.value.sent) == ("lost", True)
        assert len(upstream.received) == 1


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"


@pytest.mark.parametrize("how", [Cut.EOF, Cut.RESET])
@pytest.mark.parametrize("wire", [HEAD + b"half", CHUNKED, CHUNKED + b"5\r\nhe"], ids=["length", "chunk", "half chunk"])
async def test_a_body_shorter_than_promised_is_lost_and_not_short(transport: Transport, wire: bytes, how: Cut) -> None:
    async with fake_upstream(Reply((wire, how), framing="raw")) as upstream:
        with pytest.raises(TransportError) as failure:
            await body_of(transport, post(upstream))

        assert (failure.value.kind, failure.value.sent) == ("lost", True)


async def test_a_body_without_a_length_ends_with_its_connection(transport: Transport) -> None:
    async with fake_upstream(Reply((b"abc", b"def"), framing="close")) as upstream:
        assert await body_of(transport, post(upstream)) == b"abcdef"


async def test_a_body_without_a_length_that_is_reset_is_lost(transport: Transport) -> None:
    async with fake_upstream(Reply((b"abc", Cut.RESET), framing="close")) as upstream:
        with pytest.raises(TransportError) as failure:
            await body_of(transport, post(upstream))

        assert failure.value.kind == "lost"


async def test_giving_up_in_mid_body_closes_the_connection_at_once(transport: Transport) -> None:
    async with fake_upstream(sse_reply(text_chunk("a"), Until(asyncio.Event()))) as upstream:
        response = await transport.open(post(upstream), 1.0)
        await response.read()
        await response.aclose()

        await asyncio.wait_for(upstream.last.closed.wait(), 1.0)


async def test_cancelling_before_the_head_closes_the_connection_at_once(transport: Transport) -> None:
    async with fake_upstream(Reply((Until(asyncio.Event()),), framing="raw")) as upstream:
        task = asyncio.create_task(transport.open(post(upstream), 1.0))
        await upstream.until(lambda u: len(u.received) == 1)
        task.cancel()

        await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        assert (await asyncio.gather(task, return_exceptions=True))[0].__class__ is asyncio.CancelledError


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_a_packed_body_is_unpacked(transport: Transport, pack: Callable[[bytes], bytes]) -> None:
    name = "gzip" if pack is gzip.compress else "deflate"
    packed = pack(b"hello " * 100)
    reply = Reply((packed[:7], packed[7:]), headers=(("content-encoding", name),), framing="chunked")
    async with fake_upstream(reply) as upstream:
        assert await body_of(transport, post(upstream)) == b"hello " * 100


async def test_a_decompression_bomb_is_an_error_and_not_a_memory(fast: FastTransport) -> None:
    bomb = gzip.compress(bytes(1 << 22))
    async with fake_upstream(Reply((bomb,), headers=(("content-encoding", "gzip"),), framing="length")) as upstream:
        response = await fast.open(post(upstream), 1.0)
        with pytest.raises(TransportError, match="unpacks to more"):
            await BodyReader(response, max_piece=1 << 16).read()
        await response.aclose()


async def test_a_packed_body_that_ends_in_the_middle_is_lost(fast: FastTransport) -> None:
    packed = gzip.compress(b"hello " * 100)[:-9]
    async with fake_upstream(Reply((packed,), headers=(("content-encoding", "gzip"),), framing="length")) as upstream:
        with pytest.raises(TransportError) as failure:
            await body_of(fast, post(upstream))

        assert failure.value.kind == "lost"


async def test_a_body_beyond_its_bound_is_refused(fast: FastTransport) -> None:
    async with fake_upstream(Reply((b"x" * 5000,), framing="chunked")) as upstream:
        response = await fast.open(post(upstream), 1.0)
        with pytest.raises(TransportError, match="larger than 4000"):
            await read_whole(response, 4000)
        await response.aclose()


@pytest.mark.parametrize(
    "wire",
    [
        b"no http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x-a: 1\r\n" * 129 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nx-a: " + b"a" * 70_000,
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nab",
    ],
    ids=["not http", "too many headers", "endless header", "upgrade", "two lengths"],
)
async def test_a_head_that_is_not_proper_http_is_malformed(fast: FastTransport, wire: bytes) -> None:
    async with fake_upstream(Reply((wire, Until(asyncio.Event())), framing="raw")) as upstream:
        with pytest.raises(TransportError) as failure:
            await body_of(fast, post(upstream))

        assert (failure.value.kind, failure.value.sent) == ("malformed", True)
        assert fast.in_use == 0


async def test_interim_responses_are_passed_over(fast: FastTransport) -> None:
    wire = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    async with fake_upstream(Reply((wire, Until(asyncio.Event())), framing="raw")) as upstream:
        response = await fast.open(post(upstream), 1.0)

        assert (response.status, "link" in response.headers, await response.read()) == (200, False, b"ok")
        await response.aclose()


async def test_bytes_after_the_answer_poison_the_connection_but_not_the_answer(fast: FastTransport) -> None:
    lie = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil"
    async with fake_upstream(Reply((lie, Until(asyncio.Event())), framing="raw"), json_reply({})) as upstream:
        assert await body_of(fast, post(upstream)) == b"ok"
        assert await body_of(fast, post(upstream)) == b"{}"
        assert upstream.connections == 2


async def test_a_connection_that_the_peer_closed_while_idle_is_not_used(fast: FastTransport) -> None:
    closing = Reply((b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", Cut.EOF), framing="raw")
    async with fake_upstream(closing, json_reply({})) as upstream:
        await body_of(fast, post(upstream))
        await upstream.until(lambda u: u.open_connections == 0)

        assert await body_of(fast, post(upstream)) == b"{}"


@pytest.mark.parametrize("stray", [b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil", b"\r\n"])
async def test_what_comes_of_a_connection_that_rests_answers_nobody(fast: FastTransport, stray: bytes) -> None:
    later = asyncio.Event()
    twice = Reply((b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", Until(later), stray), framing="raw")
    async with fake_upstream(twice, json_reply({})) as upstream:
        assert await body_of(fast, post(upstream)) == b"ok"
        later.set()
        await upstream.until(lambda u: u.open_connections == 0)

        assert await body_of(fast, post(upstream)) == b"{}"


class Nobody:
    """Keeps no connection."""

    def release(self, connection: Connection, *, keep: bool) -> None: ...

    def lost(self, connection: Connection) -> None: ...


@pytest.mark.parametrize("peer_says", ["a stray byte", "its end"])
async def test_a_connection_that_rested_is_asked_what_the_loop_has_not_told_yet(peer_says: str) -> None:
    loop, (ours, theirs) = asyncio.get_running_loop(), socket.socketpair()
    with theirs:
        transport, rested = await loop.create_connection(lambda: Connection(Bounds(), Nobody(), loop), sock=ours)
        transport.pause_reading()
        assert rested.is_quiet(rested.idle_since + 1.0)

        theirs.send(b"x") if peer_says == "a stray byte" else theirs.shutdown(socket.SHUT_WR)

        assert not rested.is_quiet(rested.idle_since + 1.0)
        transport.abort()
        assert not rested.is_quiet(rested.idle_since)


async def test_only_an_idempotent_request_is_repeated_when_a_used_connection_breaks(fast: FastTransport) -> None:
    gone = Reply((Cut.EOF,), framing="raw")
    async with fake_upstream(json_reply({}), gone, json_reply({}), gone, json_reply({})) as upstream:
        await body_of(fast, post(upstream))
        get = HttpRequest("GET", locate(upstream.base)[0], "/v1/models")
        assert await body_of(fast, get) == b"{}"
        with pytest.raises(TransportError):
            await body_of(fast, post(upstream))

        assert [got.method for got in upstream.received] == ["POST", "GET", "GET", "POST"]


async def test_the_pool_is_bounded_and_says_so_when_nobody_leaves() -> None:
    fast = FastTransport(PoolLimits(connections=2))
    async with fake_upstream(sse_reply(text_chunk("a"), Until(asyncio.Event()))) as upstream:
        held = [await fast.open(post(upstream), 1.0) for _ in range(2)]
        with pytest.raises(TransportError) as failure:
            await fast.open(post(upstream), 0.05)
        assert (failure.value.kind, failure.value.sent, fast.in_use) == ("busy", False, 2)

        waiting = asyncio.create_task(fast.open(post(upstream), 1.0))
        await asyncio.sleep(0)
        await held[0].aclose()
        held.append(await waiting)
        for response in held:
            await response.aclose()
        assert fast.in_use == 0
        await fast.aclose()


async def test_who_gives_up_connecting_makes_room_for_who_waits() -> None:
    fast, came = FastTransport(PoolLimits(connections=1)), asyncio.Queue[None]()

    async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.put_nowait(None)
        await reader.read()
        writer.close()

    async with asyncio.timeout(5.0), await asyncio.start_server(says_nothing, "127.0.0.1", 0) as silent:
        origin, _ = locate(f"https://127.0.0.1:{silent.sockets[0].getsockname()[1]}")
        first, second = [asyncio.create_task(fast.open(HttpRequest("POST", origin, "/"), 60.0)) for _ in range(2)]
        for asking in (first, second):
            await came.get()
            asking.cancel()
            await asyncio.wait((asking,))

    assert fast.in_use == 0


@pytest.mark.parametrize("whole_s", [None, 60.0])
def test_waiting_for_a_turn_and_then_connecting_take_the_time_of_one(whole_s: float | None) -> None:
    async def asked() -> None:
        loop, fast, parted = asyncio.get_running_loop(), FastTransport(PoolLimits(connections=1)), asyncio.Event()

        async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await parted.wait()
            writer.close()

        async with await asyncio.start_server(says_nothing, "127.0.0.1", 0) as silent:
            origin, _ = locate(f"https://127.0.0.1:{silent.sockets[0].getsockname()[1]}")
            held = asyncio.create_task(fast.open(HttpRequest("POST", origin, "/"), 60.0))
            await asyncio.sleep(0)
            began_at = loop.time()
            loop.call_later(9.0, held.cancel)
            with pytest.raises(TransportError) as failure:
                await fast.open(HttpRequest("POST", origin, "/"), 10.0, whole_s)
            took_s = loop.time() - began_at
            parted.set()

        assert (failure.value.kind, failure.value.sent, fast.in_use) == ("busy", False, 0)
        assert 10.0 <= took_s < 10.01  # with the last look

    run_virtual(asked())


async def test_who_is_given_a_turn_and_gives_up_gives_it_on() -> None:
    fast = FastTransport(PoolLimits(connections=1))
    async with fake_upstream(sse_reply(text_chunk("a"), Until(asyncio.Event())), json_reply({})) as upstream:
        held = await fast.open(post(upstream), 1.0)
        first, second = [asyncio.create_task(fast.open(post(upstream), 60.0)) for _ in range(2)]
        await asyncio.sleep(0)
        await held.aclose()
        first.cancel()

        async with asyncio.timeout(5.0):
            assert await read_whole(await second, 1 << 20) == b"{}"
        assert (first.cancelled(), fast.in_use) == (True, 0)
        await fast.aclose()


class Reached(asyncio.Event):
    """An `Until` that does not hold: it tells that the script came so far."""

    async def wait(self) -> Literal[True]:
        self.set()
        return True


async def test_a_reader_that_stops_reading_stops_the_peer(fast: FastTransport) -> None:
    written = Reached()
    body = tuple(b"x" * (1 << 18) for _ in range(128))
    async with fake_upstream(Reply((*body, Until(written)))) as upstream:
        response = await fast.open(post(upstream), 1.0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event.wait(written), 0.3)
        sizes = []
        while piece := await response.read():
            sizes.append(len(piece))
        await response.aclose()

        assert (sum(sizes), written.is_set()) == (128 << 18, True)
        assert max(sizes) <= 1 << 20


async def test_a_whole_answer_with_a_late_end_keeps_its_connection(fast: FastTransport) -> None:
    end = asyncio.Event()
    async with fake_upstream(sse_reply(DONE, Until(end)), json_reply({})) as upstream:
        response = await fast.open(post(upstream), 1.0)
        await response.read()
        await response.aclose(whole=True)
        assert fast.in_use == 1
        end.set()
        await upstream.until(lambda u: u.open_connections == 1)
        while fast.in_use:  # noqa: ASYNC110 (a transport does not announce that it is idle)
            await asyncio.sleep(0)

        await body_of(fast, post(upstream))
        assert upstream.connections == 1


@pytest.mark.parametrize("before", [(), (HEAD,), (HEAD + b"half",)], ids=["nothing", "a head", "half a body"])
async def test_an_answer_that_is_not_over_in_its_time_is_late(transport: Transport, before: tuple[bytes, ...]) -> None:
    async with fake_upstream(Reply((*before, Until(asyncio.Event())), framing="raw")) as upstream:
        with pytest.raises(TransportError) as failure:
            await body_of(transport, post(upstream), 0.05)

        assert (failure.value.kind, failure.value.sent) == ("late", True)
        assert str(failure.value) == "the upstream took longer than 0.05 s in all"
        await asyncio.wait_for(upstream.last.closed.wait(), 1.0)


async def test_the_time_of_an_answer_holds_for_connecting_too(transport: Transport) -> None:
    """A socket that listens, and whose owner never says the first word of TLS."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        origin, path = locate(f"https://127.0.0.1:{silent.getsockname()[1]}/")
        with pytest.raises(TransportError) as failure:
            async with asyncio.timeout(5.0):
                await transport.open(HttpRequest("POST", origin, path or "/"), 60.0, 0.05)

    assert failure.value.kind == "late"


async def test_the_time_of_an_answer_holds_for_waiting_for_a_connection_too() -> None:
    fast = FastTransport(PoolLimits(connections=1))
    async with fake_upstream(sse_reply(text_chunk("a"), Until(asyncio.Event()))) as upstream:
        held = await fast.open(post(upstream), 1.0)
        with pytest.raises(TransportError) as failure:
            async with asyncio.timeout(5.0):
                await fast.open(post(upstream), 60.0, 0.05)
        assert (failure.value.kind, fast.in_use) == ("late", 1)
        await held.aclose()
        await fast.aclose()


@pytest.mark.parametrize("whole_s", [5.0, 600.0], ids=["near", "far"])
async def test_an_answer_in_time_leaves_no_alarm(fast: FastTransport, whole_s: float) -> None:
    async with fake_upstream(json_reply({}), Reply((HEAD, b"123", b"456789"), framing="raw")) as upstream:
        bodies = [await body_of(fast, post(upstream), whole_s) for _ in range(2)]

        assert bodies == [b"{}", b"123456789"]
        assert fast.waiting == fast.in_use == 0


class Still(asyncio.Transport):
    """Nothing goes anywhere."""

    def write(self, data: object) -> None: ...


def test_an_answer_that_came_in_time_may_be_read_at_any() -> None:
    async def read_late() -> None:
        loop = asyncio.get_running_loop()
        connection = Connection(Bounds(), Nobody(), loop)
        connection.connection_made(Still())
        exchange = connection.send(b"?")
        exchange.whole_s, exchange.until = 5.0, loop.time() + 5.0
        exchange.is_near()
        connection.data_received(HEAD + b"123456789")
        await asyncio.sleep(60.0)

        assert [await exchange.read(), await exchange.read()] == [b"123456789", b""]

    run_virtual(read_late())


async def test_a_refusal_is_told_before_its_body_has_come(transport: Transport) -> None:
    head = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 9\r\n\r\n"
    async with fake_upstream(Reply((head, Until(asyncio.Event())), framing="raw")) as upstream:
        response = await transport.open(post(upstream), 1.0, 600.0)
        await response.aclose()

        assert (response.status, response.headers["retry-after"]) == (429, "1")


async def test_a_connection_is_free_once_an_answer_has_come_and_its_bytes_are_there_all_the_same(
    fast: FastTransport,
) -> None:
    async with fake_upstream(json_reply({"a": 1}), json_reply({"b": 2})) as upstream:
        first = await fast.open(post(upstream), 1.0, 600.0)
        assert fast.in_use == 0
        second = await fast.open(post(upstream), 1.0, 600.0)
        await first.aclose()

        assert [await read_whole(one, 1 << 20) for one in (second, first)] == [b'{"b":2}', b'{"a":1}']
        assert upstream.connections == 1


async def test_an_answer_larger_than_what_is_held_unread_is_read_on_and_free_at_its_end(fast: FastTransport) -> None:
    body = b"x" * (1 << 20)
    async with fake_upstream(Reply((body,), framing="length"), json_reply({})) as upstream:
        assert await body_of(fast, post(upstream), 600.0) == body
        assert await body_of(fast, post(upstream), 600.0) == b"{}"

        assert (upstream.connections, fast.in_use, fast.waiting) == (1, 0, 0)


@pytest.mark.parametrize("new_loop", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
def test_what_came_while_our_own_loop_stood_still_is_read_and_not_late(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def work(ours: socket.socket, theirs: socket.socket) -> bytes:
        loop = asyncio.get_running_loop()
        transport, connection = await loop.create_connection(lambda: Connection(Bounds(), Nobody(), loop), sock=ours)
        exchange = connection.send(b"?")
        exchange.whole_s, exchange.until = 0.01, loop.time() + 0.01
        exchange.is_near()

        def comes_late() -> None:
            loop.remove_reader(ready)
            theirs.send(HEAD + b"123456789")
            stands_still(loop)

        loop.add_reader(ready, comes_late)  # whoever is read may be what takes so long
        await exchange.head
        transport.abort()
        return await exchange.read()

    (ours, theirs), (ready, other) = socket.socketpair(), socket.socketpair()
    other.send(b"x")
    with theirs, ready, other, contextlib.closing(new_loop()) as loop:
        assert loop.run_until_complete(work(ours, theirs)) == b"123456789"


@pytest.mark.parametrize("new_loop", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
def test_a_connection_that_stood_while_our_own_loop_stood_still_is_one(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def work(origin: Origin) -> bool:
        loop = asyncio.get_running_loop()
        asking = asyncio.ensure_future(connect(origin, None, 0.01, lambda: Connection(Bounds(), Nobody(), loop)))
        loop.call_soon(stands_still, loop)
        connection = await asking
        connection.abort()
        return True

    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.closing(new_loop()) as loop:
        assert loop.run_until_complete(work(Origin("http", *server.getsockname())))


@pytest.mark.parametrize("new_loop", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
def test_a_turn_that_came_while_our_own_loop_stood_still_is_taken(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def work(origin: Origin) -> bool:
        loop = asyncio.get_running_loop()
        pool = Pool(origin, None, PoolLimits(connections=1), Bounds())
        held, _ = await pool.take(5.0)
        waiting = asyncio.ensure_future(pool.take(0.01))
        await asyncio.sleep(0)
        stands_still(loop)
        loop.call_soon(functools.partial(pool.release, held, keep=True))
        return (await waiting)[1]

    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.closing(new_loop()) as loop:
        assert loop.run_until_complete(work(Origin("http", *server.getsockname())))


def test_who_is_passed_by_for_ever_is_told_so_when_its_time_is_over() -> None:
    async def work(origin: Origin) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        pool = Pool(origin, None, PoolLimits(connections=1), Bounds())
        held, _ = await pool.take(5.0)
        waiting = asyncio.ensure_future(pool.take(1.0))
        await asyncio.sleep(0)
        for _ in range(20):
            pool.release(held, keep=True)
            assert pool.reuse(pool.now()) is held
            loop.stand_still(0.3)
            await asyncio.sleep(0)

        assert waiting.done()
        with pytest.raises(TransportError, match="in use"):
            await waiting

    with socket.create_server(("127.0.0.1", 0)) as server:
        run_virtual(work(Origin("http", *server.getsockname())))


def stands_still(loop: asyncio.AbstractEventLoop) -> None:
    until = loop.time() + 0.2
    while loop.time() < until:
        pass


def test_uvloop_carries_the_same_transport() -> None:
    async def twice() -> tuple[list[bytes], int]:
        fast = FastTransport()
        async with fake_upstream(chat_answer("x"), sse_reply(event("hi"))) as upstream:
            bodies = [await body_of(fast, post(upstream)) for _ in range(2)]
            await fast.aclose()
            return bodies, upstream.connections

    bodies, connections = uvloop.run(twice())
    assert (bodies[1], connections) == (b"data: hi\n\n", 1)


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "a\0b"])
def test_a_header_cannot_smuggle_another(value: str) -> None:
    with pytest.raises(ValueError, match="line end"):
        serialise(HttpRequest("POST", locate("http://u")[0], "/", (("x-a", value),)))
    with pytest.raises(ValueError, match="line end"):
        serialise(HttpRequest("POST", locate("http://u")[0], "/", more={"x-a": value}))


def test_a_path_cannot_smuggle_a_header() -> None:
    with pytest.raises(ValueError, match="line end"):
        serialise(HttpRequest("GET", locate("http://u")[0], "/ HTTP/1.1\r\nx-evil: 1\r\n"))


async def test_what_is_kept_of_a_head_says_the_same_as_what_is_put_together(transport: Transport) -> None:
    async with fake_upstream(json_reply({})) as upstream:
        made = post(upstream, ("x-a", "1"), body=b"12345")
        opening = opening_of(made.method, made.origin, made.path, made.headers)
        for request in (made, msgspec.structs.replace(made, opening=opening)):
            await body_of(transport, msgspec.structs.replace(request, more={"x-b": "2"}))

        first, second = [sorted(received.headers) for received in upstream.received]
        assert first == second
        assert ("x-b", "2") in first


def test_a_request_does_not_print_its_key() -> None:
    request = HttpRequest("POST", locate("http://u")[0], "/v1", (("authorization", "Bearer sk-1"),), b"prompt")

    assert repr(request) == "HttpRequest(POST http://u/v1)"
