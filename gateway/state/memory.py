"""Prefix residency within one process."""

import itertools
from collections.abc import Callable, Mapping, Sequence

from gateway.state.residency import MAX_HOLDERS, MAX_TTL_S, MOST_BLOCKS, NO_MARKS, SPECULATIVE_TTL_S, Prompt, Seen
from gateway.state.runs import Run, Runs

NOTHING = Seen({})


class MemoryResidency:
    """An LRU of block digests, each with its holders and the instant at which each record ends.

    A holder is a slot: the number of one replica in one generation. Forgetting a replica gives it a new slot, and so
    makes every record of the old one unreachable at once; the records themselves go with their block.
    `clock` counts seconds. Bounds: `max_blocks` digests, MAX_HOLDERS records each.
    """

    def __init__(self, max_blocks: int, clock: Callable[[], float]) -> None:
        if max_blocks < 1:
            raise ValueError("max_blocks must be at least 1")
        self._max_blocks = max_blocks
        self._clock = clock
        self._runs = Runs()
        self._slots: dict[str, int] = {}
        self._fresh_slots = itertools.count()

    def __len__(self) -> int:
        return self._runs.blocks

    async def look(self, prompts: Sequence[Prompt]) -> Sequence[Seen]:
        """Nobody else is here: marks and others' work are of no use to ourselves."""
        found = []
        for prompt in prompts:
            path, _ = self._runs.along(prompt.blocks[:MOST_BLOCKS])
            found.append(Seen(self._depths(path, prompt.replicas)) if path else NOTHING)
        return found

    async def held(self, blocks: Sequence[bytes], replicas: Sequence[str]) -> Mapping[str, int]:
        return self.held_now(blocks, replicas)

    async def learn(self, replica: str, blocks: Sequence[bytes], ttl_s: float, marks: bytes = NO_MARKS) -> None:
        self.learn_now(replica, blocks, ttl_s)

    def expect(self, replica: str, blocks: Sequence[bytes], ttl_s: float = SPECULATIVE_TTL_S) -> None:
        """What is held for longer anyway is not written down again: the answer will say that it was used."""
        blocks = blocks[:MOST_BLOCKS]
        path, known = self._runs.along(blocks)
        if path and known == len(blocks):
            deepest, _ = path[-1]
            until = self._clock() + (ttl_s if ttl_s < MAX_TTL_S else MAX_TTL_S)
            if deepest.ends.get(self._slots.get(replica, -1), 0.0) >= until:
                return
        self.learn_now(replica, blocks, ttl_s)

    async def forget(self, replica: str) -> None:
        self.forget_now(replica)

    async def aclose(self) -> None:
        self._runs.clear()
        self._slots.clear()

    def held_now(self, blocks: Sequence[bytes], replicas: Sequence[str]) -> dict[str, int]:
        """`held`, without an event loop."""
        path, _ = self._runs.along(blocks[:MOST_BLOCKS])
        return {**dict.fromkeys(replicas, 0), **self._depths(path, replicas)}

    def _depths(self, path: Sequence[tuple[Run, int]], replicas: Sequence[str]) -> dict[str, int]:
        """Of who holds any. Who holds a run was told of all before it in the same instants, and so holds them for as long; but
        where many hold the beginning, some records of it may have been given up."""
        now, slots = self._clock(), self._slots
        depths: dict[str, int] = {}
        for name in replicas:
            slot, depth = slots.get(name, -1), 0
            for run, size in path:
                if run.ends.get(slot, 0.0) <= now:
                    break
                depth += size
            if depth:
                depths[name] = depth
        return depths

    def learn_now(self, replica: str, blocks: Sequence[bytes], ttl_s: float) -> None:
        """`learn`, without an event loop. Deepest block first, so that of one prompt the tail is evicted first."""
        blocks, runs, now, slot = blocks[:MOST_BLOCKS], self._runs, self._clock(), self._slots.get(replica)
        if slot is None:
            slot = self._slots[replica] = next(self._fresh_slots)
        ends_at, deeper = now + (ttl_s if ttl_s < MAX_TTL_S else MAX_TTL_S), None
        path, known = runs.along(blocks)
        if known < len(blocks):
            deeper = runs.begin(tuple(blocks[known:]), {slot: ends_at})
        for found, size in reversed(path):
            run = runs.cut(found, size) if size < len(found.keys) else found
            until = run.ends.get(slot)
            if until is None and len(run.ends) >= MAX_HOLDERS:
                self._make_room(run.ends, now)
            if until is None or until < ends_at:
                run.ends[slot] = ends_at
            runs.touch(run)
            if deeper is not None and deeper.ends == run.ends:
                runs.join(run, deeper)
            deeper = run
        if runs.blocks > self._max_blocks:
            runs.shrink(self._max_blocks)

    def forget_now(self, replica: str) -> None:
        """`forget`, without an event loop."""
        self._slots.pop(replica, None)

    def _make_room(self, ends: dict[int, float], now: float) -> None:
        live = set(self._slots.values())
        for slot in [slot for slot, end in ends.items() if end <= now or slot not in live]:
            del ends[slot]
        if len(ends) >= MAX_HOLDERS:
            del ends[min(ends, key=lambda slot: (ends[slot], slot))]
