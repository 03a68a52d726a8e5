"""The same history gives the same answers in Redis and in memory; and what the scripts leave behind is bounded."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.asyncio import Redis

from gateway.state.lane import Lane
from gateway.state.link import open_link
from gateway.state.memory import MemoryResidency
from gateway.state.redis_index import SLICE, Found, RedisIndex
from gateway.state.residency import MARK_BYTES, MAX_HOLDERS, MAX_TTL_S, NO_WORK, Prompt

REPLICAS = ["http://a:1", "http://b:1", "in-process:c"]
FRESH = itertools.count()
prompts = st.lists(st.integers(0, 1), min_size=1, max_size=6)
steps = st.one_of(
    st.tuples(st.just("learn"), st.sampled_from(REPLICAS), prompts, st.integers(1, 20)),
    st.tuples(st.just("forget"), st.sampled_from(REPLICAS), st.just([]), st.just(0)),
    st.tuples(st.just("wait"), st.just(""), st.just([]), st.integers(1, 15)),
    st.tuples(st.just("held"), st.just(""), prompts, st.just(0)),
)


@contextlib.asynccontextmanager
async def index(url, clock, max_blocks=1_000) -> AsyncIterator[RedisIndex]:
    namespace = f"test{next(FRESH)}"
    lane = Lane(open_link(url, namespace))
    yield RedisIndex(lane, max_blocks=max_blocks, clock=clock, tag=f"{{{namespace}}}")
    await lane.aclose()


async def held(shared: RedisIndex, blocks, replicas, marks_from=None) -> Found:
    [found] = await shared.held([Prompt(blocks, replicas, marks_from)])
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(steps, min_size=1, max_size=20), bound=st.integers(2, 12))
def test_redis_and_memory_agree_on_every_history(history, bound, chained, redis_url, clock):
    async def play() -> None:
        memory = MemoryResidency(bound, clock)
        async with index(redis_url, clock, bound) as shared:
            for verb, replica, prompt, seconds in history:
                if verb == "learn":
                    await memory.learn(replica, chained(prompt), seconds)
                    await shared.learn(replica, chained(prompt), seconds)
                elif verb == "forget":
                    await memory.forget(replica)
                    await shared.forget(replica)
                elif verb == "wait":
                    clock.advance(seconds)
                else:
                    found = await held(shared, chained(prompt), REPLICAS)
                    assert found.depths == await memory.held(chained(prompt), REPLICAS)

    asyncio.run(play())


async def test_a_guess_never_shortens_what_was_confirmed_in_redis(redis_url, clock, chained):
    async with index(redis_url, clock) as shared:
        await shared.learn("a", chained([1]), 600)

        await shared.learn("a", chained([1]), 5)
        clock.advance(10)

        assert (await held(shared, chained([1]), ["a"])).depths == {"a": 1}


async def test_a_prompt_longer_than_a_slice_is_held_whole(redis_url, clock, chained):
    blocks = chained([n % 251 for n in range(2 * SLICE + 3)])
    async with index(redis_url, clock, 10 * SLICE) as shared:
        await shared.learn("a", blocks, 60)

        assert (await held(shared, blocks, ["a", "b"])).depths == {"a": len(blocks), "b": 0}


async def test_every_key_has_a_ttl_and_one_slot_and_their_number_is_bounded(redis_url, clock, chained):
    async with index(redis_url, clock, max_blocks=10) as shared:
        for n in range(50):
            await shared.learn(f"r{n % 3}", chained([n, n, n]), 60)
        await shared.forget("r0")

        client = Redis.from_url(redis_url)
        keys = [key async for key in client.scan_iter(match=f"{shared._blocks.split(':')[0]}*")]
        ttls = [await client.pttl(key) for key in keys]
        assert all(0 < ttl <= MAX_TTL_S * 1_000 for ttl in ttls)
        assert len({await client.execute_command("CLUSTER", "KEYSLOT", key) for key in keys}) == 1
        assert len(keys) <= 10 + 3 + 2, "blocks, generations, order and counter"
        await client.aclose()


async def test_a_full_block_gives_up_the_holder_whose_record_ends_first(redis_url, clock, chained):
    replicas = [f"r{n}" for n in range(MAX_HOLDERS + 1)]
    async with index(redis_url, clock) as shared:
        for n, replica in enumerate(replicas):
            await shared.learn(replica, chained([1]), 60 + n)

        depths = (await held(shared, chained([1]), replicas)).depths

    assert [replica for replica, depth in depths.items() if not depth] == ["r0"]


async def test_scripts_are_loaded_again_when_the_server_lost_them(redis_url, clock, chained):
    async with index(redis_url, clock) as shared:
        await shared.learn("a", chained([1, 2]), 60)

        async with Redis.from_url(redis_url) as client:
            await client.script_flush()

        assert (await held(shared, chained([1, 2]), ["a"])).depths == {"a": 2}


def marks(*numbers: int) -> bytes:
    return b"".join(bytes([n]) * MARK_BYTES for n in numbers)


async def test_marks_are_told_from_where_they_are_wanted_to_where_they_end(redis_url, clock, chained):
    async with index(redis_url, clock) as shared:
        await shared.learn("a", chained([1, 2, 3]), 60, marks(1, 2, 3))
        await shared.learn("b", chained([1, 2]), 60)

        longer = chained([1, 2, 3, 4, 5])
        found = [(await held(shared, longer, ["a", "b"], start)).marks for start in (None, 0, 2, 3)]

    assert found == [{}, {"a": marks(1, 2, 3)}, {"a": marks(3)}, {}]


async def test_a_guess_keeps_the_marks_that_were_learnt(redis_url, clock, chained):
    async with index(redis_url, clock) as shared:
        await shared.learn("a", chained([1, 2]), 60, marks(1, 2))

        await shared.learn("a", chained([1, 2, 3]), 60)

        assert (await held(shared, chained([1, 2, 3]), ["a"], 0)).marks == {"a": marks(1, 2)}


async def test_marks_of_a_prompt_of_several_slices_come_back_in_order(redis_url, clock, chained):
    prompt = [n % 251 for n in range(SLICE + 7)]
    async with index(redis_url, clock, 10 * SLICE) as shared:
        await shared.learn("a", chained(prompt), 60, marks(*prompt))

        assert (await held(shared, chained(prompt), ["a"], 5)).marks == {"a": marks(*prompt[5:])}


async def test_prompts_of_several_models_are_answered_together(redis_url, clock, chained):
    async with index(redis_url, clock) as shared:
        await shared.learn("a", chained([1, 2]), 60)
        await shared.learn("c", chained([3]), 60)

        found = await shared.held(
            [Prompt(chained([1, 2]), ["a", "b"]), Prompt([], ["b"]), Prompt(chained([3]), ["c", "a"])]
        )

    assert [one.depths for one in found] == [{"a": 2, "b": 0}, {"b": 0}, {"c": 1, "a": 0}]
    assert all(work == NO_WORK for one in found for work in one.others.values())


async def test_what_is_no_record_and_no_word_of_ours_counts_as_nothing(redis_url, clock, chained):
    """Whoever may write to the store may write anything; nobody's look may fail for it."""
    async with index(redis_url, clock) as shared:
        await shared.learn("a", chained([1, 2]), 60)
        async with Redis.from_url(redis_url) as client:
            for key in [key async for key in client.scan_iter(match=f"{shared._blocks}*")]:
                await client.hset(key, mapping={"b": "nonsense", "c": "9999999999999:", "d": ""})
            await client.hset(f"{shared.work_prefix}a", mapping={"other": "nonsense", "another": b"\xff:::"})

        found = await held(shared, chained([1, 2]), ["a", "b", "c", "d"], 0)
        await shared.learn("b", chained([1, 2]), 60)
        told = await held(shared, chained([1, 2]), ["b"])

    assert found.depths == {"a": 2, "b": 0, "c": 0, "d": 0}
    assert found.others["a"] == NO_WORK
    assert told.depths == {"b": 2}


async def test_of_a_thousand_replicas_those_that_hold_the_beginning_are_found(redis_url, clock, chained):
    replicas = [f"r{n}" for n in range(1_024)]
    memory = MemoryResidency(1_000, clock)
    async with index(redis_url, clock) as shared:
        for n in range(0, 1_024, 100):
            await shared.learn(replicas[n], chained([1, 2, 3])[: 1 + n % 3], 60)
            await memory.learn(replicas[n], chained([1, 2, 3])[: 1 + n % 3], 60)

        depths = (await held(shared, chained([1, 2, 3]), replicas)).depths

    assert depths == await memory.held(chained([1, 2, 3]), replicas)
    assert sum(depth > 0 for depth in depths.values()) == 11
