"""What gateways know together of an experiment: each has a part of its own, so nothing counts twice, and how it stands."""

from collections.abc import Mapping

import msgspec

from gateway.state.lane import Script, Word
from gateway.state.redis_index import SCRIPTS
from gateway.state.store import Store

LIFE_S = 90 * 86_400
"""After the last word."""

STANDING = b"standing"


class Heard(msgspec.Struct, frozen=True):
    """Parts of the other gateways, and how it stands; both as they were told."""

    parts: tuple[bytes, ...]
    standing: bytes | None


class SharedEvidence:
    """`me` names this process, for as long as its own part is the same one. Values are opaque here."""

    def __init__(self, store: Store, me: str) -> None:
        self._store = store
        self._me = me.encode()
        self._script = Script(SCRIPTS / "evidence.lua")

    async def tell(self, name: str, part: bytes, standing: bytes) -> None:
        """This gateway's part, whole, and how the experiment stands. Lost words are mended by the next."""
        args: list[Word] = [LIFE_S, self._me, part, STANDING, standing]
        await self._store.finish(lambda: self._store.lane.run(self._script, [self._key(name)], args))

    async def hear(self, name: str) -> Heard | None:
        """None while the store cannot be asked."""

        async def work() -> Mapping[bytes, bytes]:
            found = await self._store.lane.ask("HGETALL", self._key(name))
            return pairs(found)

        known = await self._store.finish(work)
        if known is None:
            return None
        parts = tuple([part for who, part in sorted(known.items()) if who not in (self._me, STANDING)])
        return Heard(parts, known.get(STANDING))

    def _key(self, name: str) -> str:
        return f"{self._store.tag}:experiment:{name}"


def pairs(found: object) -> Mapping[bytes, bytes]:
    """A hash as the server tells it: a map, or fields and values in turn.

    >>> pairs([b"a", b"1"])
    {b'a': b'1'}
    """
    if isinstance(found, Mapping):
        return dict(found)
    assert isinstance(found, list)
    return dict(zip(found[::2], found[1::2], strict=True))
