"""ST-02: whatever the room writes ends by itself. A write and its end are one command, so no cut can part them."""

import itertools
import time
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from gateway.budgets.shared import Change
from gateway.state.lane import Lane, Link
from gateway.state.link import open_link
from gateway.state.memory import MemoryResidency
from gateway.state.notes import MemoryNotes
from gateway.state.redis_notes import SharedNotes
from gateway.state.redis_residency import RedisResidency
from gateway.state.registry import Registry
from gateway.state.residency import MARK_BYTES, Work
from gateway.state.shared_budgets import SharedBudgets
from gateway.state.shared_evidence import LIFE_S, SharedEvidence
from gateway.state.shared_purse import SharedPurse
from gateway.state.shared_work import SharedWork
from gateway.state.store import Store

FRESH = itertools.count()
SCRIPTS_OR_READS = {"EVALSHA", "EVAL", "GET", "MGET", "HGETALL", "PING"}


class Heard:
    """A link whose commands are written down."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.commands: list[tuple[Any, ...]] = []

    async def client(self) -> Redis:
        client = await self._link.client()
        pipeline = client.pipeline

        def heard(*, transaction: bool) -> Any:
            made = pipeline(transaction=transaction)
            execute = made.execute_command

            def write_down(*words: Any) -> Any:
                self.commands.append(words)
                return execute(*words)

            made.execute_command = write_down
            return made

        client.pipeline = heard  # type: ignore[method-assign,assignment]  # the client's, not ours
        return client

    async def drop(self) -> None:
        await self._link.drop()

    async def aclose(self) -> None:
        await self._link.aclose()


async def everything(store: Store, blocks: Sequence[bytes]) -> None:
    """Each verb of each class that writes."""
    residency = RedisResidency(store, mirror=MemoryResidency(100, time.monotonic), me="me")
    await residency.learn("http://a", blocks, 60, bytes(MARK_BYTES) * len(blocks))
    residency.expect("http://b", blocks)
    await residency.forget("http://a")
    await residency.held(blocks, ["http://a", "http://b"])
    work = SharedWork(store, "me", residency.index.work_prefix)
    await work._tell({"http://a": Work(1, 2, 3, ((blocks[0], 2),))})
    registry = Registry(store)
    await registry.announce("m", "http://a", 10)
    await registry.find("m")
    evidence = SharedEvidence(store, "me")
    await evidence.tell("e", b"part", b"standing")
    await evidence.hear("e")
    notes = SharedNotes(store, MemoryNotes(time.monotonic))
    await notes.tell("key", "word", 60)
    notes.post("other", "word", 60)
    await notes.read(["key", "other"])
    await SharedPurse(store).take("cap", 20_000, 1, 10)
    await SharedBudgets(store, "me").take([Change("k", 1.0, 10, 0.0, time.time() + 60, True)], lambda _: None)


async def test_every_key_has_an_end_from_the_command_that_makes_it(redis_url, chained):
    namespace = f"ends{next(FRESH)}"
    store = Store(redis_url, wait_s=5.0, namespace=namespace)
    link = Heard(open_link(redis_url, namespace))
    store.lane = Lane(link)
    assert await store.connect()

    await everything(store, chained([1, 2, 3]))
    await store.lane.ask("PING")
    async with Redis.from_url(redis_url) as client:
        keys = [key async for key in client.scan_iter(match=f"{store.tag}*")]
        ttls_ms = {key: await client.pttl(key) for key in keys}
    await store.aclose()

    assert len(keys) >= 8
    assert all(0 < ttl <= LIFE_S * 1_000 for ttl in ttls_ms.values()), ttls_ms
    bare = [words for words in link.commands if words[0] not in SCRIPTS_OR_READS]
    assert all(words[0] == "SET" and words[3] == "PX" for words in bare), bare
