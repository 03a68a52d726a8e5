"""Prefix residency within one process."""

import itertools
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from gateway.state.residency import MAX_HOLDERS, MAX_TTL_S, MOST_BLOCKS, NO_MARKS, SPECULATIVE_TTL_S, Prompt, Seen

NO_RECORDS: Mapping[int, float] = {}


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
        self._blocks: OrderedDict[bytes, dict[int, float]] = OrderedDict()
        self._slots: dict[str, int] = {}
        self._fresh_slots = itertools.count()

    def __len__(self) -> int:
        return len(self._blocks)

    async def look(self, prompts: Sequence[Prompt]) -> Sequence[Seen]:
        """Nobody else is here: marks and others' work are of no use to ourselves."""
        return [Seen(self.held_now(prompt.blocks, prompt.replicas)) for prompt in prompts]

    async def held(self, blocks: Sequence[bytes], replicas: Sequence[str]) -> Mapping[str, int]:
        return self.held_now(blocks, replicas)

    async def learn(self, replica: str, blocks: Sequence[bytes], ttl_s: float, marks: bytes = NO_MARKS) -> None:
        self.learn_now(replica, blocks, ttl_s)

    def expect(self, replica: str, blocks: Sequence[bytes], ttl_s: float = SPECULATIVE_TTL_S) -> None:
        """What is held for longer anyway is not written down again: the answer will say that it was used."""
        deepest = self._blocks.get(blocks[:MOST_BLOCKS][-1], NO_RECORDS) if blocks else NO_RECORDS
        if deepest.get(self._slot(replica), 0.0) < self._clock() + min(ttl_s, MAX_TTL_S):
            self.learn_now(replica, blocks, ttl_s)

    async def forget(self, replica: str) -> None:
        self.forget_now(replica)

    async def aclose(self) -> None:
        self._blocks.clear()
        self._slots.clear()

    def held_now(self, blocks: Sequence[bytes], replicas: Sequence[str]) -> dict[str, int]:
        """`held`, without an event loop: log2(blocks) look-ups for each replica.

        A record of a block implies records of all blocks before it that last as long and are evicted later, so the
        depth can be bisected, and who has none of the first block need not be looked for.
        """
        now, blocks, slots = self._clock(), blocks[:MOST_BLOCKS], self._slots
        first = self._blocks.get(blocks[0], NO_RECORDS) if blocks else NO_RECORDS
        return {name: self._depth(blocks, name, now) if slots.get(name) in first else 0 for name in replicas}

    def _depth(self, blocks: Sequence[bytes], replica: str, now: float) -> int:
        slot, records = self._slots.get(replica), self._blocks
        if slot is None or not blocks or records.get(blocks[0], NO_RECORDS).get(slot, now) <= now:
            return 0
        if records.get(blocks[-1], NO_RECORDS).get(slot, now) > now:
            return len(blocks)
        return bisect_left(blocks, True, key=lambda block: records.get(block, NO_RECORDS).get(slot, now) <= now)

    def learn_now(self, replica: str, blocks: Sequence[bytes], ttl_s: float) -> None:
        """`learn`, without an event loop. Deepest block first, so that of one prompt the tail is evicted first."""
        now, records, slot = self._clock(), self._blocks, self._slot(replica)
        ends_at = now + min(ttl_s, MAX_TTL_S)
        for block in reversed(blocks[:MOST_BLOCKS]):
            ends = records.get(block)
            if ends is None:
                records[block] = {slot: ends_at}
                continue
            records.move_to_end(block)
            if slot not in ends and len(ends) >= MAX_HOLDERS:
                self._make_room(ends, now)
            if ends.get(slot, 0.0) < ends_at:
                ends[slot] = ends_at
        while len(records) > self._max_blocks:
            records.popitem(last=False)

    def forget_now(self, replica: str) -> None:
        """`forget`, without an event loop."""
        self._slots.pop(replica, None)

    def _slot(self, replica: str) -> int:
        slot = self._slots.get(replica)
        if slot is None:
            slot = self._slots[replica] = next(self._fresh_slots)
        return slot

    def _make_room(self, ends: dict[int, float], now: float) -> None:
        live = set(self._slots.values())
        for slot in [slot for slot, end in ends.items() if end <= now or slot not in live]:
            del ends[slot]
        if len(ends) >= MAX_HOLDERS:
            del ends[min(ends, key=lambda slot: (ends[slot], slot))]
