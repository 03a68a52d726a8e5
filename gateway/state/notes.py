"""Words under opaque keys, for a while: what one gateway process leaves for whoever gets the next request."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

MOST_NOTES = 65_536
"""In this process: 15 MB when full. The oldest go."""


class Notes(Protocol):
    @property
    def is_shared(self) -> bool:
        """Whether other processes read them."""
        ...

    @property
    def may_hold_any(self) -> bool:
        """False where there is surely nothing to read."""
        ...

    async def read(self, keys: Sequence[str]) -> str:
        """The word under the first of the keys that has one, or ""."""
        ...

    def post(self, key: str, word: str, for_s: float) -> None:
        """`word` in place of what was there. Nobody waits until others know."""
        ...

    async def tell(self, key: str, word: str, for_s: float) -> None:
        """The same; others know then, where the store is not away or late."""
        ...


class MemoryNotes:
    """`clock` counts seconds."""

    is_shared = False

    def __init__(self, clock: Callable[[], float], most: int = MOST_NOTES) -> None:
        self._clock = clock
        self._most = most
        self._notes: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._notes)

    @property
    def may_hold_any(self) -> bool:
        while self._notes and next(iter(self._notes.values()))[1] <= self._clock():
            self._notes.popitem(last=False)
        return bool(self._notes)

    async def read(self, keys: Sequence[str]) -> str:
        return first_of([self.known(key) for key in keys])

    def known(self, key: str) -> str | None:
        """None where nothing was left, or that was too long ago."""
        word, ends_at = self._notes.get(key, ("", 0.0))
        return word if ends_at > self._clock() else None

    async def tell(self, key: str, word: str, for_s: float) -> None:
        self.post(key, word, for_s)

    def post(self, key: str, word: str, for_s: float) -> None:
        self._notes[key] = (word, self._clock() + for_s)
        self._notes.move_to_end(key)
        while len(self._notes) > self._most:
            self._notes.popitem(last=False)


def first_of(words: Iterable[str | None]) -> str:
    return next((word for word in words if word is not None), "")
