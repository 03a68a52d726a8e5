"""Words under opaque keys, shared by all gateway processes."""

from gateway.state.notes import MemoryNotes
from gateway.state.store import Store


class SharedNotes:
    """In Redis, with a mirror of what this process left, which answers while Redis does not."""

    is_shared = True

    def __init__(self, store: Store, mirror: MemoryNotes) -> None:
        self._store = store
        self._mirror = mirror

    async def read(self, key: str) -> str:
        """What others left counts before our own, which may be older."""
        found = await self._store.ask(lambda: self._store.lane.ask("GET", self._at(key)))
        return await self._mirror.read(key) if found is None else bytes(found).decode("utf-8", "replace")

    def leave(self, key: str, word: str, for_s: float) -> None:
        self._mirror.leave(key, word, for_s)
        lasts_ms = max(1, round(for_s * 1_000))
        self._store.post(lambda: self._store.lane.ask("SET", self._at(key), word, "PX", lasts_ms))

    def _at(self, key: str) -> str:
        return f"{self._store.tag}:note:{key}"
