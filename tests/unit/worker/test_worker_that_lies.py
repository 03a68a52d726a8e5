"""A worker that lies, or is broken: its words have bounds, and what has none ends the stream, not the gateway."""

import asyncio
from collections.abc import Iterator, Mapping
from itertools import chain, repeat

import msgspec
import pytest
from upstreams.fake_upstream import fake_upstream, sse_reply

from backends.transport import FastTransport
from backends.worker.heard import Heard, Message
from backends.worker.listen import KINDS, MAX_EVENT_BYTES, Unheard, listen
from backends.worker.messages import MAX_DIGESTS, Blocks, WorkerIs, WorkerLoad
from backends.worker.upstream import WorkerUpstream
from backends.worker.voice import event

WHO = WorkerIs("g", "sha/bfloat16", 16)
LOAD = WorkerLoad("g", True, "", 0, 0, 0, 0, 8, 8)


class Says:
    """A server whose page of events gives these pieces; a response of its own, too."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.read_bytes = 0

    async def get(self, path: str, accept: str, connect_s: float) -> "Says":
        return self

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        piece = next(self._pieces, b"")
        self.read_bytes += len(piece)
        return piece

    async def aclose(self, *, whole: bool = False) -> None: ...


async def hear(server: Says, silence_s: float = 5.0) -> tuple[list[Message], Unheard]:
    """What was told until the stream ended, and how it ended."""
    told: list[Message] = []
    try:
        async for message in listen(server, silence_s):
            told.append(message)
    except Unheard as over:
        return told, over
    raise AssertionError("a stream ended without a word")


def changed(message: msgspec.Struct, **fields: object) -> bytes:
    return event("load", msgspec.structs.replace(message, **fields))


@pytest.mark.parametrize(
    "lie",
    [
        event("blocks", Blocks(1, stored=(b"short",))),
        event("blocks", Blocks(1, stored=(b"x" * 17,))),
        event("blocks", Blocks(1, removed=(b"",))),
        event("blocks", Blocks(1, stored=(bytes(16),) * (MAX_DIGESTS + 1))),
        event("blocks", Blocks(-1)),
        changed(LOAD, queued_tokens=10**400),
        changed(LOAD, running=-1),
        changed(LOAD, waiting=1 << 60),
        changed(LOAD, why_not="x" * 10_000),
        event("worker", WorkerIs("g" * 10_000, "r", 16)),
        event("worker", WorkerIs("g", "r" * 10_000, 16)),
        b'event: worker\ndata: {"generation":"g","revision":"r","block_tokens":16,"version":"1"}\n\n',
        b"event: load\ndata: " + b"[" * 100_000 + b"\n\n",
        b'event: load\ndata: {"later": ' + b"[" * 100_000 + b"\n\n",
        b"event: load\ndata: \xff\xfe\n\n",
    ],
    ids=lambda lie: lie[:70].decode(errors="replace"),
)
async def test_a_word_out_of_bounds_ends_the_stream_in_words_of_bounded_length(lie: bytes) -> None:
    told, over = await hear(Says(iter([event("worker", WHO), lie, event("load", LOAD)])))

    assert told == [WHO]
    assert "not understood" in str(over)
    assert len(str(over)) < 300


@pytest.mark.parametrize("line", [b"x" * 4096, b"data: " + b"y" * 4090 + b"\n"])
async def test_a_line_or_an_event_that_does_not_end_is_read_to_a_bound(line: bytes) -> None:
    server = Says(chain([b"event: blocks\n"], repeat(line)))

    _, over = await hear(server)

    assert "not understood" in str(over)
    assert server.read_bytes <= MAX_EVENT_BYTES + 2 * len(line) + 20


@pytest.mark.parametrize("noise", [b": keep-alive\n\n", b"event: news\ndata: {}\n\n", b"x"])
async def test_noise_is_no_word_and_a_worker_that_says_nothing_else_is_not_there(noise: bytes) -> None:
    told, over = await hear(Says(chain([event("load", LOAD)], repeat(noise))), silence_s=0.05)

    assert told == [LOAD]
    assert "nothing came" in str(over) or "larger" in str(over)


def test_the_largest_words_of_a_worker_are_within_the_bound_of_an_event() -> None:
    most = Blocks(1 << 40, stored=(b"\xff" * 16,) * MAX_DIGESTS, cleared=True, more=True)

    assert len(event("blocks", most)) < MAX_EVENT_BYTES / 2
    assert set(KINDS) == {b"worker", b"blocks", b"load"}


def test_a_whole_that_a_new_generation_interrupts_leaves_nothing_behind() -> None:
    heard = Heard()
    heard.take(WHO)
    heard.take(Blocks(1, stored=(bytes(16),), cleared=True, more=True))
    heard.take(WorkerIs("h", "sha/bfloat16", 16))
    heard.take(Blocks(1, stored=(b"\x01" * 16,)))

    assert heard.resident == {b"\x01" * 16}


async def test_others_go_on_between_two_words_however_many_come_at_once() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    going = asyncio.create_task(others())
    told, _ = await hear(Says(iter([event("load", LOAD) * 200])))
    going.cancel()

    assert len(told) == 200
    assert turns >= 200


async def test_a_worker_that_says_a_word_and_leaves_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    async with fake_upstream(sse_reply(event("load", LOAD))) as server:
        transport = FastTransport()
        worker = WorkerUpstream(model="m", at=server.base, transport=transport)
        hearing = asyncio.create_task(worker.hear(nothing))
        await server.until(lambda server: len(server.received) >= 4)
        hearing.cancel()
        await asyncio.wait((hearing,))
        await transport.aclose()

    assert [record.getMessage().partition("is not heard: ")[2] for record in caplog.records] == [
        "it ended its stream of events"
    ]


async def nothing() -> None: ...
