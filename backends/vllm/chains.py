"""The blocks of one server: which are resident, and the chain of them that a prompt of token ids runs along."""

import struct
from collections.abc import Sequence
from hashlib import blake2b

from backends.vllm.events import Change, Cleared, Hash, Removed, Stored

MOST_BLOCKS = 1 << 20
"""Of one server, 16 M tokens: what it stores beyond that is passed over, and counts as not resident."""

Place = tuple[Hash, bytes]
"""The block before, and what stands in a block."""


class Chains:
    """Blocks are told once, when they are stored; of what was stored before we listened nothing is known."""

    def __init__(self, most: int = MOST_BLOCKS) -> None:
        self._most = most
        self._places: dict[Hash, Place] = {}
        self._behind: dict[Place, set[Hash]] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, block: object) -> bool:
        return block in self._places

    def take(self, change: Change) -> None:
        match change:
            case Stored():
                self._store(change)
            case Removed():
                for block in change.hashes:
                    self._remove(block)
            case Cleared():
                self._places.clear()
                self._behind.clear()

    def walk(self, tokens: Sequence[int]) -> list[Hash]:
        """The resident blocks that `tokens` begin with. Where equal tokens stand in several caches (the server keeps
        tenants apart), one that goes on furthest."""
        if not self.size:
            return []
        return self._longest(b"", tokens, 0)

    def _longest(self, parent: Hash, tokens: Sequence[int], start: int) -> list[Hash]:
        chain: list[Hash] = []
        while start + self.size <= len(tokens):
            alike = self._behind.get((parent, content(tokens[start : start + self.size])), set())
            start += self.size
            if len(alike) > 1:
                return chain + max(([one, *self._longest(one, tokens, start)] for one in sorted(alike)), key=len)
            if not alike:
                break
            [parent] = alike
            chain.append(parent)
        return chain

    def _store(self, stored: Stored) -> None:
        self.size, parent = stored.size, stored.parent
        for number, block in enumerate(stored.hashes):
            place = parent, content(stored.tokens[number * stored.size : (number + 1) * stored.size])
            if block not in self._places and len(self._places) < self._most:
                self._places[block] = place
                self._behind.setdefault(place, set()).add(block)
            parent = block

    def _remove(self, block: Hash) -> None:
        place = self._places.pop(block, None)
        if place is None:
            return
        alike = self._behind[place]
        alike.discard(block)
        if not alike:
            del self._behind[place]


def content(tokens: Sequence[int]) -> bytes:
    """Raises struct.error for what is no token id."""
    return blake2b(struct.pack(f"<{len(tokens)}q", *tokens), digest_size=16).digest()
