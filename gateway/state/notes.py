"""Words under opaque keys, for a while: what one gateway process leaves for whoever gets the next request."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

MOST_NOTES = 100_000
"""In this process: about 30 MB when full. The oldest go."""


class Notes(Protocol):
    @property
    def is_shared(self) -> bool:
        """Whether other processes read them."""
        ...

    async def read(self, key: str) -> str:
        """The word, or "" where there is none."""
        ...

    def leave(self, key: str, word: str, for_s: float) -> None:
        """`word` in place of what was there. Nobody waits until others know."""
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

    async def read(self, key: str) -> str:
        word, ends_at = self._notes.get(key, ("", 0.0))
        return word if ends_at > self._clock() else ""

    def leave(self, key: str, word: str, for_s: float) -> None:
        self._notes[key] = (word, self._clock() + for_s)
        self._notes.move_to_end(key)
        while len(self._notes) > self._most:
            self._notes.popitem(last=False)
