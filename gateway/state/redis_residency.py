"""Prefix residency shared by all gateway processes, with a mirror in this one that answers whenever Redis does not."""

from collections.abc import Callable, Coroutine, Mapping, Sequence

from gateway.state.memory import MemoryResidency
from gateway.state.redis_index import Found, RedisIndex
from gateway.state.residency import MOST_BLOCKS, NO_MARKS, SPECULATIVE_TTL_S, Prompt, Seen
from gateway.state.store import Store

MOST_TOLD = 32_768
"""Blocks that are being told at once: 0.15 s of the server's time. A flood of long prompts is not shared beyond that."""


class RedisResidency:
    """Redis' answer and the mirror's, joined: a replica holds what either knows. `me` names this process among those that
    share the store."""

    def __init__(
        self,
        store: Store,
        *,
        mirror: MemoryResidency,
        max_blocks: int = 1_000_000,
        me: str = "",
    ) -> None:
        self.index = RedisIndex(store.lane, max_blocks=max_blocks, tag=store.tag, me=me)
        self._store = store
        self._mirror = mirror
        self._generations: dict[str, str] = {}
        self._owed: set[str] = set()
        self._telling = 0
        store.when_back(self._pay_all)

    async def look(self, prompts: Sequence[Prompt]) -> Sequence[Seen]:
        asked = [prompt for prompt in prompts if prompt.replicas]
        found = await self._store.ask(lambda: self.index.held(asked)) if asked else None
        if found is None:
            return await self._mirror.look(prompts)
        for one in found:
            await self._catch_up(one.generations)
        answers = iter(found)
        return [self._joined(prompt, next(answers)) if prompt.replicas else Seen({}) for prompt in prompts]

    async def held(self, blocks: Sequence[bytes], replicas: Sequence[str]) -> Mapping[str, int]:
        [seen] = await self.look([Prompt(blocks, replicas)])
        return {**dict.fromkeys(replicas, 0), **seen.depths}

    async def learn(self, replica: str, blocks: Sequence[bytes], ttl_s: float, marks: bytes = NO_MARKS) -> None:
        """A long prompt may take the server longer than a request waits; that alone is no failure."""
        self._mirror.learn_now(replica, blocks, ttl_s)
        if blocks:
            await self._store.tell(self._telling_of(replica, blocks, ttl_s, marks))

    def expect(self, replica: str, blocks: Sequence[bytes], ttl_s: float = SPECULATIVE_TTL_S) -> None:
        self._mirror.expect(replica, blocks, ttl_s)
        if blocks:
            self._store.post(self._telling_of(replica, blocks, ttl_s))

    async def forget(self, replica: str) -> None:
        """Also when Redis is away: the mirror forgets at once, and Redis is told before it is asked again."""
        await self._mirror.forget(replica)
        self._owed.add(replica)
        if await self._store.ask(lambda: self._pay(replica)) is None:
            self._store.leave()

    async def aclose(self) -> None:
        await self._mirror.aclose()

    def _telling_of(
        self, replica: str, blocks: Sequence[bytes], ttl_s: float, marks: bytes = NO_MARKS
    ) -> Callable[[], Coroutine[None, None, None]]:
        """Nothing, where that would be more than MOST_TOLD at once."""
        count = min(len(blocks), MOST_BLOCKS)

        async def tell() -> None:
            try:
                await self.index.learn(replica, blocks, ttl_s, marks)
            finally:
                self._telling -= count

        def begin() -> Coroutine[None, None, None]:
            if self._telling + count > MOST_TOLD:
                return nothing()
            self._telling += count
            return tell()

        return begin

    def _joined(self, prompt: Prompt, found: Found) -> Seen:
        mirrored = self._mirror.held_now(prompt.blocks, prompt.replicas)
        depths = {replica: max(depth, mirrored[replica]) for replica, depth in found.depths.items()}
        return Seen(depths, found.marks, found.others, found.alike)

    async def _catch_up(self, generations: Mapping[str, str]) -> None:
        """Forget here what another process forgot. A generation that is gone was flushed, not forgotten."""
        for replica, generation in generations.items():
            if generation and generation != self._generations.get(replica, ""):
                self._generations[replica] = generation
                await self._mirror.forget(replica)

    async def _pay_all(self) -> None:
        for replica in tuple(self._owed):
            await self._pay(replica)

    async def _pay(self, replica: str) -> bool:
        self._generations[replica] = await self.index.forget(replica)
        self._owed.discard(replica)
        return True


async def nothing() -> None:
    """What is not told."""
