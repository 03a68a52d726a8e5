"""What a worker says: bounded events, in an order from which any reader knows what is resident."""

import asyncio
from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.engine.api import EngineLoad
from backends.engine.thread.feed import Place, ResidencyFeed, Told
from backends.sse import Decoder
from backends.upstream import Load
from backends.worker.messages import HEARTBEAT_S, MAX_DIGESTS, MAX_WORDS, Blocks, WorkerIs, WorkerLoad
from backends.worker.voice import Voice, frames
from gateway.errors import Left
from gateway.request.door import Door
from gateway.request.ingress import AsgiEvent
from gateway.worker.publish import speak


@dataclass
class StubWorker:
    revision: str = "sha/bfloat16"
    feed: ResidencyFeed = field(default_factory=ResidencyFeed)
    waiting: int = 0

    @property
    def generation(self) -> str:
        return self.feed.generation

    def residency_after(self, place: Place | None) -> Told | None:
        return self.feed.after(place)

    def engine_load(self) -> EngineLoad:
        return EngineLoad(self.waiting, 0, 0, 8, 8)

    def load(self) -> Load:
        return Load()


def heard(voice: Voice, now: float = 0.0, why_not: str = "") -> list[WorkerIs | Blocks | WorkerLoad]:
    types = {b"worker": WorkerIs, b"blocks": Blocks, b"load": WorkerLoad}
    events = Decoder().feed(b"".join(voice.news(now, why_not)))
    return [msgspec.json.decode(event.data, type=types[event.name]) for event in events]


def digest(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_a_reason_is_cut_to_what_a_reader_takes() -> None:
    assert heard(Voice(StubWorker()), why_not="x" * 5000)[-1].why_not == "x" * MAX_WORDS  # type: ignore[union-attr]


def test_first_comes_who_speaks_then_all_blocks_then_the_load() -> None:
    worker = StubWorker()
    worker.feed.publish([(digest(1), True)])

    who, blocks, load = heard(Voice(worker))

    assert who == WorkerIs(worker.generation, "sha/bfloat16", 16)
    assert blocks == Blocks(sequence=1, stored=(digest(1),), cleared=True)
    assert isinstance(load, WorkerLoad)
    assert (load.generation, load.ready, load.why_not) == (worker.generation, True, "")


def test_where_nothing_changes_only_the_heart_beats() -> None:
    voice = Voice(StubWorker())
    heard(voice)

    assert heard(voice, now=HEARTBEAT_S / 2) == []
    assert [type(event) for event in heard(voice, now=HEARTBEAT_S)] == [WorkerLoad]


def test_a_load_that_changed_is_told_at_once() -> None:
    worker = StubWorker()
    voice = Voice(worker)
    heard(voice)
    worker.waiting = 3

    [load] = heard(voice)

    assert isinstance(load, WorkerLoad)
    assert load.waiting == 3


def test_a_process_that_stops_is_not_ready_whatever_its_engine_says() -> None:
    *_, load = heard(Voice(StubWorker()), why_not="stopping")

    assert isinstance(load, WorkerLoad)
    assert (load.ready, load.why_not) == (False, "stopping")


def test_a_lost_cache_is_told_as_a_new_generation_that_holds_nothing() -> None:
    worker = StubWorker()
    worker.feed.publish([(digest(1), True)])
    voice = Voice(worker)
    heard(voice)
    worker.feed.begin()

    who, blocks, _ = heard(voice)

    assert isinstance(who, WorkerIs)
    assert who.generation == worker.generation
    assert blocks == Blocks(sequence=0, cleared=True)


@given(st.integers(0, 3 * MAX_DIGESTS), st.integers(0, 3 * MAX_DIGESTS), st.booleans())
def test_what_is_told_at_once_comes_whole_in_bounded_events(stored: int, removed: int, is_whole: bool) -> None:
    came = tuple(map(digest, range(stored)))
    went = () if is_whole else tuple(map(digest, range(10_000, 10_000 + removed)))

    told = list(frames(Told(Place("g", 7), came, went, is_whole)))

    assert all(len(blocks.stored) + len(blocks.removed) <= MAX_DIGESTS for blocks in told)
    assert tuple(one for blocks in told for one in blocks.stored) == came
    assert tuple(one for blocks in told for one in blocks.removed) == went
    assert [blocks.cleared for blocks in told] == [is_whole] + [False] * (len(told) - 1)
    assert [blocks.more for blocks in told] == [True] * (len(told) - 1) + [False]
    assert {blocks.sequence for blocks in told} == {7}


async def test_a_reader_that_does_not_read_is_dropped_while_one_event_is_held_for_it() -> None:
    worker, asked = StubWorker(), []
    worker.feed.publish((digest(number), True) for number in range(10 * MAX_DIGESTS))

    async def stalled(message: AsgiEvent) -> None:
        asked.append(message)
        await asyncio.Event().wait()

    with pytest.raises(Left):
        await asyncio.wait_for(speak(Voice(worker), Door(1), lambda: True, stalled, patience_s=0.01), 5)

    assert len(asked) == 1
