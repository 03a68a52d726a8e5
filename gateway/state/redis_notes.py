"""Words under opaque keys, shared by all gateway processes."""

from collections.abc import Sequence

from gateway.state.notes import MemoryNotes, first_of
from gateway.state.store import Store


class SharedNotes:
    """In Redis, with a mirror of what this process left, which answers while Redis does not."""

    is_shared = True
    may_hold_any = True  # by others

    def __init__(self, store: Store, mirror: MemoryNotes) -> None:
        self._store = store
        self._mirror = mirror

    async def read(self, keys: Sequence[str]) -> str:
        """What others left counts before our own, which may be older."""
        found = await self._store.ask(lambda: self._store.lane.ask("MGET", *map(self._at, keys)))
        words = [
            None if word is None else bytes(word).decode("utf-8", "replace") for word in found or [None] * len(keys)
        ]
        return first_of(
            [self._mirror.known(key) if word is None else word for key, word in zip(keys, words, strict=True)]
        )

    def post(self, key: str, word: str, for_s: float) -> None:
        self._mirror.post(key, word, for_s)
        self._store.post(lambda: self._set(key, word, for_s))

    async def tell(self, key: str, word: str, for_s: float) -> None:
        self._mirror.post(key, word, for_s)
        await self._store.tell(lambda: self._set(key, word, for_s))

    async def _set(self, key: str, word: str, for_s: float) -> None:
        await self._store.lane.ask("SET", self._at(key), word, "PX", max(1, round(for_s * 1_000)))

    def _at(self, key: str) -> str:
        return f"{self._store.tag}:note:{key}"
