"""Laws of prefix residency in memory, against a model that is too simple to be wrong."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.state.memory import MemoryResidency
from gateway.state.residency import MAX_HOLDERS, MAX_TTL_S

REPLICAS = ["a", "b", "c"]
prompts = st.lists(st.integers(0, 1), min_size=1, max_size=6)
steps = st.one_of(
    st.tuples(st.just("learn"), st.sampled_from(REPLICAS), prompts, st.integers(1, 20)),
    st.tuples(st.just("forget"), st.sampled_from(REPLICAS), st.just([]), st.just(0)),
    st.tuples(st.just("wait"), st.just(""), st.just([]), st.integers(1, 15)),
)


class Naive:
    """(replica, block) -> end, and a walk from the first block on."""

    def __init__(self) -> None:
        self.ends: dict[tuple[str, bytes], float] = {}

    def learn(self, replica: str, blocks: Sequence[bytes], ends_at: float) -> None:
        for block in blocks:
            self.ends[replica, block] = max(ends_at, self.ends.get((replica, block), 0.0))

    def forget(self, replica: str) -> None:
        self.ends = {key: end for key, end in self.ends.items() if key[0] != replica}

    def held(self, replica: str, blocks: Sequence[bytes], now: float) -> int:
        depth = 0
        while depth < len(blocks) and self.ends.get((replica, blocks[depth]), now) > now:
            depth += 1
        return depth


@given(history=st.lists(steps, max_size=25), asked=prompts)
def test_depth_is_what_a_walk_over_all_records_finds(history, asked, chained):
    now = 0.0
    memory, naive = MemoryResidency(10_000, lambda: now), Naive()

    for verb, replica, prompt, seconds in history:
        if verb == "learn":
            memory.learn_now(replica, chained(prompt), seconds)
            naive.learn(replica, chained(prompt), now + seconds)
        elif verb == "forget":
            asyncio.run(memory.forget(replica))
            naive.forget(replica)
        else:
            now += seconds

    blocks = chained(asked)
    assert memory.held_now(blocks, REPLICAS) == {r: naive.held(r, blocks, now) for r in REPLICAS}


@given(learned=st.lists(st.tuples(st.sampled_from(REPLICAS), prompts), max_size=40), bound=st.integers(1, 6))
def test_the_index_never_passes_its_bound_and_never_leaves_a_gap(learned, bound, chained):
    memory = MemoryResidency(bound, lambda: 0.0)

    for replica, prompt in learned:
        memory.learn_now(replica, chained(prompt), 60)

    assert len(memory) <= bound
    for replica, prompt in learned:
        blocks = chained(prompt)
        depth = memory.held_now(blocks, [replica])[replica]
        alone = [bool(memory.held_now([block], [replica])[replica]) for block in blocks]
        assert alone == [True] * depth + [False] * (len(blocks) - depth), "a deeper block outlived a shallower one"


def test_the_tail_of_a_prompt_goes_before_its_head(clock, chained):
    memory = MemoryResidency(5, clock)
    long, other = chained([1, 1, 1, 1]), chained([2, 2])

    memory.learn_now("a", long, 60)
    memory.learn_now("b", other, 60)

    assert memory.held_now(long, ["a"]) == {"a": 3}
    assert memory.held_now(other, ["b"]) == {"b": 2}


def test_a_guess_never_shortens_what_was_confirmed(clock, chained):
    memory = MemoryResidency(100, clock)
    memory.learn_now("a", chained([1]), 600)

    memory.learn_now("a", chained([1]), 5)
    clock.advance(10)

    assert memory.held_now(chained([1]), ["a"]) == {"a": 1}


def test_no_record_outlives_the_longest_ttl(clock, chained):
    memory = MemoryResidency(100, clock)
    memory.learn_now("a", chained([1]), 10 * MAX_TTL_S)

    clock.advance(MAX_TTL_S)

    assert memory.held_now(chained([1]), ["a"]) == {"a": 0}


def test_a_replica_that_restarted_holds_only_what_it_learned_since(clock, chained):
    memory = MemoryResidency(100, clock)
    memory.learn_now("a", chained([1, 1, 1]), 60)

    asyncio.run(memory.forget("a"))
    memory.learn_now("a", chained([1]), 60)

    assert memory.held_now(chained([1, 1, 1]), ["a"]) == {"a": 1}


def test_a_block_remembers_a_bounded_number_of_holders_and_gives_up_the_shortest(clock, chained):
    memory = MemoryResidency(100, clock)
    replicas = [f"r{n}" for n in range(MAX_HOLDERS + 1)]

    for n, replica in enumerate(replicas):
        memory.learn_now(replica, chained([1]), 60 + n)

    held = memory.held_now(chained([1]), replicas)
    assert [replica for replica in replicas if not held[replica]] == ["r0"]


def test_forgotten_holders_leave_first_when_a_block_is_full(clock, chained):
    memory = MemoryResidency(100, clock)
    replicas = [f"r{n}" for n in range(MAX_HOLDERS)]
    for replica in replicas:
        memory.learn_now(replica, chained([1]), 60)

    asyncio.run(memory.forget("r7"))
    memory.learn_now("late", chained([1]), 60)

    held = memory.held_now(chained([1]), [*replicas, "late"])
    assert [replica for replica, depth in held.items() if not depth] == ["r7"]


def test_an_index_without_room_is_refused(clock):
    with pytest.raises(ValueError, match="at least 1"):
        MemoryResidency(0, clock)
