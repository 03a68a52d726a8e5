"""A connection is left by one side where the client still speaks, whole where it has said all or the transport is TLS."""

import asyncio
from collections.abc import Callable

import pytest
import uvicorn
from uvicorn.server import ServerState

from gateway.connection.endpoints import Attend
from gateway.connection.protocol import READ_BYTES, BoundedProtocol, bounded_by
from gateway.request.client import Asker
from gateway.request.ingress import Receive, Scope, Send
from gateway.request.reply import JSON
from gateway.settings import Limits

PATH = b"/v1/a"
HEAD = b"POST /v1/a HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 9\r\n\r\n"


class Wire(asyncio.Transport):
    """A transport that keeps what is done with it."""

    def __init__(self, *, can_end_one_side: bool) -> None:
        super().__init__()
        self.written = b""
        self.done: list[str] = []
        self._can_end_one_side = can_end_one_side

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def can_write_eof(self) -> bool:
        return self._can_end_one_side

    def write_eof(self) -> None:
        if not self._can_end_one_side:
            raise NotImplementedError
        self.done.append("one side")

    def close(self) -> None:
        self.done.append("closed")

    def abort(self) -> None:
        self.done.append("aborted")

    def is_closing(self) -> bool:
        return "closed" in self.done

    def get_write_buffer_size(self) -> int:
        return 0


async def answers_early(asker: Asker) -> None:
    asker.answer(413, {"content-type": JSON}, b"{}")


async def no_app(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError


def on(wire: Wire, limits: Limits | None = None, attend: Attend = answers_early) -> BoundedProtocol:
    config = uvicorn.Config(no_app, log_config=None)
    config.load()
    protocol = bounded_by(limits or Limits(), {PATH: attend})(config, ServerState(), {})
    protocol.connection_made(wire)
    return protocol


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(2.0):
        while not condition():  # noqa: ASYNC110  the task of a request is nobody's to wait for
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("said", "can_end_one_side", "done"),
    [
        (HEAD, True, ["one side"]),
        (HEAD + b"x" * 9, True, ["closed"]),
        (HEAD + b"x" * 10, True, ["one side"]),
        (HEAD, False, ["closed"]),
        (b"\x16\x03\x01", True, ["one side"]),
        (b"\x16\x03\x01", False, ["closed"]),
    ],
    ids=["in its body", "at its end", "beyond its end", "in its body, TLS", "no HTTP", "no HTTP, TLS"],
)
async def test_a_connection_is_left_by_one_side_where_the_client_still_speaks(
    said: bytes, can_end_one_side: bool, done: list[str]
) -> None:
    wire = Wire(can_end_one_side=can_end_one_side)
    protocol = on(wire)

    protocol.data_received(said)
    await until(lambda: bool(wire.done))
    answer = wire.written
    protocol.data_received(HEAD + b"x" * 9)
    protocol.shutdown()

    assert wire.done == done
    assert answer.startswith(b"HTTP/1.1 4")
    assert wire.written == answer
    protocol.connection_lost(None)


async def test_of_a_head_that_came_too_late_as_much_is_heard_out_as_of_one_in_time() -> None:
    wire, limits = Wire(can_end_one_side=True), Limits(head_read_s=0.01)
    protocol = on(wire, limits)

    protocol.data_received(HEAD[:9])
    await until(lambda: bool(wire.done))
    protocol.data_received(b"x" * (limits.header_bytes + READ_BYTES))
    assert (wire.done, wire.written[:12]) == (["one side"], b"HTTP/1.1 408")

    protocol.data_received(b"x")
    assert wire.done == ["one side", "aborted"]
    protocol.connection_lost(None)


async def test_behind_a_request_that_broke_no_other_is_begun() -> None:
    begun: list[Asker] = []

    async def breaks(asker: Asker) -> None:
        begun.append(asker)
        raise RuntimeError

    wire = Wire(can_end_one_side=True)
    protocol = on(wire, attend=breaks)

    protocol.data_received(2 * (HEAD.replace(b"connection: close\r\n", b"") + b"x" * 9))
    await until(lambda: bool(wire.done))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert (len(begun), wire.written.count(b"HTTP/1.1 500")) == (1, 1)
    protocol.connection_lost(None)


async def test_who_waits_for_a_body_hears_when_there_will_be_none() -> None:
    heard: list[str] = []

    async def hears(asker: Asker) -> None:
        heard.append((await asker.receive())["type"])

    wire = Wire(can_end_one_side=True)
    protocol = on(wire, attend=hears)

    protocol.data_received(b"POST /v1/a HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n")
    await asyncio.sleep(0)
    protocol.data_received(b"no length\r\n")
    await until(lambda: bool(heard))

    assert (heard, wire.written[:12]) == (["http.disconnect"], b"HTTP/1.1 400")
    protocol.connection_lost(None)
