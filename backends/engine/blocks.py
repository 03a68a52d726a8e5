"""The pool of KV blocks: reference counts, prefix sharing by digest, and a least-recently-used list of free blocks.

Only full blocks are shared, and a full block is never written again, so nothing is ever copied. A free block keeps its
contents, and can be taken up again by digest, until the pool needs the room. Knows no sequence and no tensor.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backends.engine.api import BLOCK_TOKENS

Tokens = tuple[int, ...]

MAX_EVENTS = 65_536
"""Changes of residency kept for a reader; one who lags further behind must read the whole index anew."""


@dataclass(slots=True, frozen=True)
class PoolStats:
    """Counts at this moment. `free` blocks can be had at once, `cached` of them still hold a prefix."""

    total: int
    free: int
    cached: int
    evictions: int


@dataclass(slots=True, frozen=True)
class Residency:
    """Changes since the last reading, in order: (digest, is it resident now). `complete` is False if some were lost."""

    changes: tuple[tuple[bytes, bool], ...]
    complete: bool


def blocks_for(tokens: int) -> int:
    """Blocks that hold this many tokens.

    >>> [blocks_for(n) for n in (0, 1, 16, 17)]
    [0, 1, 1, 2]
    """
    return -(-tokens // BLOCK_TOKENS)


class BlockPool:
    """`total` blocks, each with the number of sequences that hold it. Every method takes constant time."""

    def __init__(self, total: int) -> None:
        self.total = total
        self._references = [0] * total
        self._digests: list[bytes | None] = [None] * total
        self._contents: list[Tokens] = [()] * total
        self._empty: deque[int] = deque(range(total))
        self._cached: dict[int, None] = {}  # unreferenced blocks that hold a prefix, least recently used first
        self._index: dict[bytes, int] = {}
        self._events: deque[tuple[bytes, bool]] = deque(maxlen=MAX_EVENTS)
        self._events_lost = False
        self._evictions = 0

    @property
    def free(self) -> int:
        """Blocks that `take` can give; those that only cache a prefix are among them."""
        return len(self._empty) + len(self._cached)

    def references(self, block: int) -> int:
        return self._references[block]

    def take(self) -> int | None:
        """A block for its caller alone, or None when every block is held."""
        if not self._empty:
            self._evict_oldest()
        if not self._empty:
            return None
        block = self._empty.popleft()
        self._references[block] = 1
        return block

    def find(self, digest: bytes, tokens: Tokens) -> int | None:
        """The block that holds this prefix. Tokens are compared, so a collision of digests is a miss."""
        block = self._index.get(digest)
        if block is None or self._contents[block] != tokens:
            return None
        return block

    def hold(self, block: int) -> None:
        """Share a block found by `find`."""
        self._cached.pop(block, None)
        self._references[block] += 1

    def publish(self, block: int, digest: bytes, tokens: Tokens) -> None:
        """Offer a held, full block to others. The first block of a digest stays the one that is found."""
        if digest in self._index:
            return
        self._index[digest] = block
        self._digests[block] = digest
        self._contents[block] = tokens
        self._record(digest, True)

    def release(self, blocks: Iterable[int]) -> None:
        """Give up one reference to each. Name the end of a prefix before its start: it is then evicted first."""
        for block in blocks:
            self._references[block] -= 1
            if self._references[block] == 0:
                self._set_free(block)

    def resident(self, digests: Sequence[bytes]) -> int:
        """How many leading digests of a chain are held. Safe from any thread: it only asks one dict."""
        for count, digest in enumerate(digests):
            if digest not in self._index:
                return count
        return len(digests)

    def clear(self) -> None:
        """Forget every prefix. Blocks in use stay with their holders, unshared from now on."""
        for digest in list(self._index):
            self._forget(self._index[digest])
        self._empty.extend(self._cached)
        self._cached.clear()

    @property
    def has_events(self) -> bool:
        return bool(self._events)

    def digests(self) -> tuple[bytes, ...]:
        """Every prefix that is resident."""
        return tuple(self._index)

    def drain_events(self) -> Residency:
        changes, complete = tuple(self._events), not self._events_lost
        self._events.clear()
        self._events_lost = False
        return Residency(changes, complete)

    def stats(self) -> PoolStats:
        return PoolStats(self.total, self.free, len(self._cached), self._evictions)

    def _set_free(self, block: int) -> None:
        if self._digests[block] is None:
            self._empty.append(block)
        else:
            self._cached[block] = None

    def _evict_oldest(self) -> None:
        block = next(iter(self._cached), None)
        if block is None:
            return
        del self._cached[block]
        self._forget(block)
        self._empty.append(block)
        self._evictions += 1

    def _forget(self, block: int) -> None:
        digest = self._digests[block]
        assert digest is not None, "an unpublished block cannot be forgotten"
        del self._index[digest]
        self._digests[block] = None
        self._contents[block] = ()
        self._record(digest, False)

    def _record(self, digest: bytes, is_resident: bool) -> None:
        self._events_lost |= len(self._events) == MAX_EVENTS
        self._events.append((digest, is_resident))
