"""What a gateway knows of a worker is what the worker said, whole, and at every moment what it said last."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from upstreams.fake_upstream import DONE, Reply, fake_upstream, sse_reply, unused_port

from backends.engine.thread.feed import Place, ResidencyFeed, Told
from backends.sse import Decoder
from backends.transport import FastTransport
from backends.worker import messages
from backends.worker.heard import Heard
from backends.worker.listen import KINDS, Unheard, listen
from backends.worker.messages import MAX_DIGESTS, VERSION, Blocks, WorkerIs, WorkerLoad
from backends.worker.upstream import WorkerUpstream
from backends.worker.voice import event, frames

README = Path(messages.__file__).parent / "README.md"
LOAD = WorkerLoad("g", True, "", 0, 0, 0, 0, 8, 8)
WHO = WorkerIs("g", "sha/bfloat16", 16)


def digest(number: int) -> bytes:
    return number.to_bytes(16, "big")


@given(st.lists(st.lists(st.tuples(st.integers(0, 9).map(digest), st.booleans()), max_size=6), max_size=12))
def test_changes_that_were_told_lead_to_what_is_resident(steps: list[list[tuple[bytes, bool]]]) -> None:
    feed, heard, place = ResidencyFeed(), Heard(), None
    for step in steps:
        feed.publish(step)
        told = feed.after(place)
        if told is not None:
            place = told.place
            for blocks in frames(told):
                heard.take(blocks)
        everything = feed.after(None)
        assert everything is not None
        assert heard.resident == set(everything.stored)


def test_a_whole_in_parts_counts_when_its_last_part_is_here() -> None:
    heard = Heard()
    heard.take(Blocks(1, stored=(digest(0),), cleared=True))
    *first, last = frames(Told(Place("g", 9), tuple(map(digest, range(1, 2 * MAX_DIGESTS))), is_whole=True))

    for part in first:
        heard.take(part)
    before = set(heard.resident)
    heard.take(last)

    assert before == {digest(0)}
    assert heard.resident == set(map(digest, range(1, 2 * MAX_DIGESTS)))


def test_a_stream_that_broke_in_the_middle_of_a_whole_leaves_nothing_behind() -> None:
    heard = Heard()
    heard.take(Blocks(1, stored=(digest(0),), cleared=True, more=True))
    heard.lose()

    heard.take(Blocks(1, stored=(digest(1),), cleared=True))

    assert heard.resident == {digest(1)}


def test_only_the_end_of_a_generation_that_was_known_is_a_loss() -> None:
    heard = Heard()

    lost = [heard.take(msgspec.structs.replace(WHO, generation=name)) for name in ("a", "a", "b")]

    assert lost == [False, False, True]
    assert heard.resident == set()


def test_the_readme_shows_what_is_said() -> None:
    blocks = [part for part in README.read_text().split("```") if part.strip().startswith("event: ")]
    events = Decoder().feed(blocks[0].strip().encode() + b"\n\n")

    decoded = [msgspec.json.decode(each.data, type=KINDS[each.name]) for each in events]
    again = [msgspec.json.encode(message) for message in decoded]

    assert {type(message) for message in decoded} == {WorkerIs, Blocks, WorkerLoad}
    assert again == [each.data for each in events]


async def heard_from(*replies: Reply) -> tuple[list[object], Unheard]:
    got: list[object] = []
    async with fake_upstream(*replies) as server:
        transport = FastTransport()
        worker = WorkerUpstream(model="m", at=server.base, transport=transport)
        over = await gather(worker, got)
        await transport.aclose()
    return got, over


async def gather(worker: WorkerUpstream, got: list[object]) -> Unheard:
    """How the stream ended, with all that came before in `got`."""
    try:
        async for message in listen(worker.server):
            got.append(message)
    except Unheard as over:
        return over
    raise AssertionError("a stream ended without a word")


async def test_words_of_a_later_time_are_passed_over_and_the_end_is_told() -> None:
    stream = sse_reply(event("worker", WHO), b"event: news\ndata: {}\n\n", event("load", LOAD), DONE)

    got, over = await heard_from(stream)

    assert got == [WHO, LOAD]
    assert "ended" in str(over)
    assert not over.is_down


async def test_another_version_is_told_and_not_guessed_at() -> None:
    got, over = await heard_from(sse_reply(event("worker", msgspec.structs.replace(WHO, version=VERSION + 1))))

    assert got == []
    assert str(VERSION + 1) in str(over)


@pytest.mark.parametrize("data", [b"event: load\ndata: {\n\n", b'event: blocks\ndata: {"sequence":"x"}\n\n'])
async def test_what_is_no_message_ends_the_stream_in_words(data: bytes) -> None:
    got, over = await heard_from(sse_reply(data))

    assert got == []
    assert "not understood" in str(over)


@pytest.mark.parametrize(("status", "is_down"), [(403, False), (404, False), (503, True)])
async def test_a_refusal_tells_whether_anybody_answers_there(status: int, is_down: bool) -> None:
    _, over = await heard_from(Reply(status=status))

    assert str(status) in str(over)
    assert over.is_down == is_down
    assert ("gateway: true" in str(over)) == (status == 403)


async def test_where_nobody_listens_the_worker_is_down() -> None:
    transport = FastTransport()
    worker = WorkerUpstream(model="m", at=f"http://127.0.0.1:{unused_port()}", transport=transport)

    with pytest.raises(Unheard) as over:
        await anext(listen(worker.server))

    assert over.value.is_down
    await transport.aclose()
