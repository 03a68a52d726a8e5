"""Laws of prefix residency in memory, against a model that is too simple to be wrong."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
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
        parts = [memory.held_now(blocks[:size], [replica])[replica] for size in range(1, len(blocks) + 1)]
        assert parts == [min(size, depth) for size in range(1, len(blocks) + 1)], (
            "a deeper block outlived a shallower one"
        )


class EveryBlock:
    """A record for each block, in the order in which blocks were written down, the deepest of a prompt first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.ends: OrderedDict[bytes, dict[int, float]] = OrderedDict()
        self.lives: dict[str, int] = {}
        self.slots: dict[int, tuple[str, int]] = {}

    def slot(self, replica: str) -> int:
        """The number of one replica in one life, counted from its first record on."""
        life = replica, self.lives.get(replica, 0)
        if life not in self.slots.values():
            self.slots[len(self.slots)] = life
        return next(slot for slot, whose in self.slots.items() if whose == life)

    def is_over(self, slot: int) -> bool:
        replica, life = self.slots[slot]
        return life != self.lives.get(replica, 0)

    def learn(self, replica: str, blocks: Sequence[bytes], ends_at: float, now: float) -> None:
        slot = self.slot(replica)
        for block in reversed(blocks):
            ends = self.ends.setdefault(block, {})
            self.ends.move_to_end(block)
            if slot not in ends and len(ends) >= MAX_HOLDERS:
                over = [one for one, end in ends.items() if end <= now or self.is_over(one)]
                for one in over or [min(ends, key=lambda one: (ends[one], one))]:
                    del ends[one]
            ends[slot] = max(ends_at, ends.get(slot, 0.0))
        while len(self.ends) > self.most:
            self.ends.popitem(last=False)

    def forget(self, replica: str) -> None:
        self.lives[replica] = self.lives.get(replica, 0) + 1

    def held(self, replica: str, blocks: Sequence[bytes], now: float) -> int:
        slot = self.slot(replica)
        held = [self.ends.get(block, {}).get(slot, 0.0) > now for block in blocks]
        return held.index(False) if False in held else len(held)


@settings(max_examples=200)
@given(
    history=st.lists(steps, max_size=40), asked=st.lists(prompts, min_size=1, max_size=4), bound=st.integers(1, 40),
    crowd=st.integers(0, MAX_HOLDERS),
)  # fmt: skip
def test_runs_tell_what_a_record_for_each_block_would_tell(history, asked, bound, crowd, chained):
    """Also which blocks go when there is no room for all, and whose records when many hold the same."""
    now = 0.0
    memory, slow = MemoryResidency(bound, lambda: now), EveryBlock(bound)
    many = [("learn", f"other {n}", prompt, 1 + n / 64) for n in range(crowd) for prompt in asked[:1]]

    for verb, replica, prompt, seconds in [*many, *history]:
        if verb == "learn":
            memory.learn_now(replica, chained(prompt), seconds)
            slow.learn(replica, chained(prompt), now + seconds, now)
        elif verb == "forget":
            memory.forget_now(replica)
            slow.forget(replica)
        else:
            now += seconds
        assert len(memory) == len(slow.ends)

    everybody = [*REPLICAS, *[f"other {n}" for n in range(crowd)]]
    for prompt in asked:
        blocks = chained(prompt)
        assert memory.held_now(blocks, everybody) == {one: slow.held(one, blocks, now) for one in everybody}


def test_turns_of_one_conversation_are_one_run_as_long_as_one_replica_has_them_all(clock, chained):
    memory = MemoryResidency(1_000, clock)

    for turn in range(1, 20):
        memory.learn_now("a", chained([1] * turn), 60)
        clock.advance(1)

    path, _ = memory._runs.along(chained([1] * 19))
    assert [size for _, size in path] == [19]


def test_what_is_sent_again_is_not_written_down_again_while_it_is_held_for_longer_anyway(clock, chained):
    memory = MemoryResidency(2, clock)
    memory.learn_now("a", chained([1]), 600)
    memory.learn_now("a", chained([2]), 600)

    memory.expect("a", chained([1]), 60)
    memory.expect("a", chained([3]), 60)

    assert [memory.held_now(chained([n]), ["a"])["a"] for n in (1, 2, 3)] == [0, 1, 1]


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
