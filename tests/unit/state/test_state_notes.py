"""Notes: alike in Redis and in memory, bounded, gone after their time, and there while the store is away."""

import asyncio
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.state.notes import MemoryNotes
from gateway.state.redis_notes import SharedNotes
from gateway.state.store import Store

FRESH = itertools.count()
LEFT = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["large", "ü", ""])), max_size=12)


def shared(redis_url: str, namespace: str, clock) -> tuple[Store, SharedNotes]:
    store = Store(redis_url, wait_s=5.0, namespace=namespace)
    return store, SharedNotes(store, MemoryNotes(clock))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=LEFT)
def test_what_one_process_leaves_another_reads_as_it_would_its_own(history, redis_url, clock) -> None:
    async def play() -> None:
        namespace = f"notes{next(FRESH)}"
        (one, writer), (two, reader) = shared(redis_url, namespace, clock), shared(redis_url, namespace, clock)
        await one.connect()
        await two.connect()
        memory = MemoryNotes(clock)
        for key, word in history:
            memory.post(key, word, 60.0)
            await writer.tell(key, word, 60.0)
        for keys in ("a", "b", "d", "abc", "dcba"):
            assert await writer.read(keys) == await memory.read(keys)
            assert await reader.read(keys) == await memory.read(keys)
        await one.aclose()
        await two.aclose()

    asyncio.run(play())


async def test_a_note_has_its_time_in_the_store(redis_url, clock) -> None:
    store, notes = shared(redis_url, "lasting", clock)
    await store.connect()
    await notes.tell("k", "large", 90.0)
    assert await notes.read(["k"]) == "large"
    left_ms = await store.lane.ask("PTTL", "{lasting}:note:k")
    assert 0 < left_ms <= 90_000
    await store.aclose()


async def test_while_the_store_is_away_a_process_knows_its_own(tmp_path, clock) -> None:
    store, notes = shared(f"unix://{tmp_path}/nobody", "away", clock)
    notes.post("k", "large", 60.0)
    assert await notes.read(["k"]) == "large"
    assert await notes.read(["other"]) == ""
    clock.advance(60)
    assert await notes.read(["k"]) == ""
    await store.aclose()


async def test_the_first_of_several_keys_that_has_a_word_counts_and_one_that_was_taken_back_is_one(
    redis_url, clock
) -> None:
    store, notes = shared(redis_url, "several", clock)
    await store.connect()
    await notes.tell("older", "large", 60.0)
    assert await notes.read(["newest", "older"]) == "large"
    await notes.tell("newest", "", 60.0)
    assert await notes.read(["newest", "older"]) == ""
    assert await notes.read([]) == ""
    await store.aclose()


@pytest.mark.parametrize("most", [1, 5])
async def test_notes_are_bounded_and_the_oldest_go(most: int, clock) -> None:
    notes = MemoryNotes(clock, most)
    for number in range(20):
        notes.post(str(number), "w", 60.0)
        assert len(notes) <= most
    assert await notes.read(["19"]) == "w"
    assert await notes.read(["0"]) == ""
