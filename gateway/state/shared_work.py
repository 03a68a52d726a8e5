"""What this process gave the replicas to do, told to all that share the store, as it changes."""

import asyncio
from collections.abc import Callable, Mapping

from gateway.state.lane import Script, Word
from gateway.state.redis_index import SCRIPTS
from gateway.state.residency import NO_WORK, WORK_LIFE_S, Work
from gateway.state.store import Store

HEARTBEAT_S = 1.0
"""Work that does not change is told again this often."""

GAP_S = 0.004
"""Between two words: an exchange costs 0.2 ms of processor time, so a busy gateway spends a twentieth on them at most."""

MOST_ALIKE = (1 << 16) - 1


class SharedWork:
    """Whole amounts, never differences: a word that got lost is mended by the next one. The first change goes out at once; what
    changes while a word is on its way, or just after it, goes out together with the next.

    `me` names this process; `prefix` is that of the keys, as the index reads them.
    """

    def __init__(
        self, store: Store, me: str, prefix: str, *, life_s: float = WORK_LIFE_S, heartbeat_s: float = HEARTBEAT_S
    ) -> None:
        self._store = store
        self._me = me
        self._prefix = prefix
        self._life_ms = round(life_s * 1_000)
        self._heartbeat_s = heartbeat_s
        self._script = Script(SCRIPTS / "work.lua")
        self._now: dict[str, Callable[[], Work]] = {}
        self._told: dict[str, Work] = {}
        self._changed: set[str] = set()
        self._woken = asyncio.Event()

    def changed(self, replica: str, now: Callable[[], Work]) -> None:
        """`now()` says what there is to do whenever it is told."""
        self._now[replica] = now
        self._changed.add(replica)
        self._woken.set()

    async def follow(self) -> None:
        """Tell until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._heartbeat_s):
                    await self._woken.wait()
                due = self._changed
            except TimeoutError:
                due = self._changed.union(self._told)
            self._changed = set()
            self._woken.clear()
            if due:
                await self._tell({replica: self._now[replica]() for replica in due})
                await asyncio.sleep(GAP_S)

    async def aclose(self) -> None:
        """Nothing is left to do here: the others need not wait until our words have aged."""
        if self._told:
            await self._tell(dict.fromkeys(self._told, NO_WORK))

    async def _tell(self, work: Mapping[str, Work]) -> None:
        args: list[Word] = [self._me, self._life_ms]
        for replica, amount in work.items():
            args += [replica, b"" if amount == NO_WORK else written(amount)]
        self._told.update(work)  # before: whoever is cancelled here may have told it all the same
        if await self._store.finish(lambda: self._store.lane.run(self._script, [self._prefix], args)) is None:
            self._changed.update(work)
        else:
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Replicas that have nothing to do need no place here."""
        for replica in [replica for replica, amount in self._told.items() if amount == NO_WORK]:
            del self._told[replica]
            if replica not in self._changed:
                del self._now[replica]


def written(work: Work) -> bytes:
    """A word on work, as the scripts read it.

    >>> written(Work(1, 200, 0, ((b"m" * 16, 2),)))
    b'1:200:0:mmmmmmmmmmmmmmmm\\x00\\x02'
    """
    beginnings = b"".join([mark + min(count, MOST_ALIKE).to_bytes(2) for mark, count in work.beginnings])
    return b"%d:%d:%d:" % work[:3] + beginnings
