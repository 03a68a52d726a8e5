"""What is resident, for any number of readers on other threads: a bounded log of changes, and all of it for who lags behind.

Knows no reader: each one keeps its own place and asks what came after it.
"""

import secrets
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from threading import Lock

MOST_CHANGES = 65_536
"""Changes that are remembered: 1 M tokens that came or went. A reader further behind is told the whole again."""


@dataclass(slots=True, frozen=True)
class Place:
    """How far a reader has come. A generation ends when the cache is lost; `sequence` counts changes within it."""

    generation: str
    sequence: int


@dataclass(slots=True, frozen=True)
class Told:
    """What leads to `place`: digests that came and went since, or, with `is_whole`, all that are resident."""

    place: Place
    stored: tuple[bytes, ...]
    removed: tuple[bytes, ...] = ()
    is_whole: bool = False


class ResidencyFeed:
    """Written by the engine's thread once a step, read from any thread. No method takes longer than its answer is long."""

    def __init__(self, most_changes: int = MOST_CHANGES) -> None:
        self._lock = Lock()
        self._resident: dict[bytes, None] = {}
        self._log: deque[tuple[bytes, bool]] = deque(maxlen=most_changes)
        self._place = Place(secrets.token_hex(8), 0)

    @property
    def generation(self) -> str:
        return self._place.generation

    def begin(self) -> None:
        """The cache is empty and a new generation begins."""
        with self._lock:
            self._forget_all()

    def replace(self, resident: Iterable[bytes]) -> None:
        """Changes were lost: a new generation begins with what is resident."""
        with self._lock:
            self._forget_all()
            self._resident = dict.fromkeys(resident)

    def publish(self, changes: Iterable[tuple[bytes, bool]]) -> None:
        """Digests and whether each is resident from here on; of several words on one digest the last counts."""
        last = dict(changes)
        with self._lock:
            for digest, is_resident in last.items():
                if is_resident:
                    self._resident[digest] = None
                else:
                    self._resident.pop(digest, None)
            self._log.extend(last.items())
            self._place = Place(self._place.generation, self._place.sequence + len(last))

    def after(self, place: Place | None) -> Told | None:
        """What came after `place` (None: from the beginning), or None when nothing did."""
        with self._lock:
            now = self._place
            if place == now:
                return None
            if place is None or place.generation != now.generation or now.sequence - place.sequence > len(self._log):
                return Told(now, tuple(self._resident), is_whole=True)
            news = list(islice(reversed(self._log), now.sequence - place.sequence))
        last = dict(reversed(news))
        stored = tuple(digest for digest, is_resident in last.items() if is_resident)
        return Told(now, stored, tuple(digest for digest, is_resident in last.items() if not is_resident))

    def _forget_all(self) -> None:
        self._resident = {}
        self._log.clear()
        self._place = Place(secrets.token_hex(8), 0)
