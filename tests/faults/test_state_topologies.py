"""A store behind Sentinels fails over, one in a cluster moves its slot: gateways find the server that takes writes."""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator

import pytest
from redis.crc import key_slot
from servers.redis_servers import cluster_of_two, watched_pair

from gateway.state.address import read_address
from gateway.state.circuit import LONGEST_PAUSE_S
from gateway.state.memory import MemoryResidency
from gateway.state.redis_residency import RedisResidency
from gateway.state.residency import Prompt
from gateway.state.store import Store

REPLICAS = ["http://a:1", "http://b:1"]
PATIENT_S = 2.0
PROMPT = [hashlib.blake2b(bytes([n]), digest_size=16).digest() for n in range(4)]


class Gateway:
    """Residency over one store, on a clock that a test can move on."""

    def __init__(self, url: str) -> None:
        self.skipped_s = 0.0
        self.store = Store(url, wait_s=PATIENT_S, monotonic=lambda: time.monotonic() + self.skipped_s)
        self.residency = RedisResidency(self.store, mirror=MemoryResidency(1_000, time.time))

    async def in_store(self) -> int:
        """Blocks that the store itself says are at the first replica."""
        [found] = await self.residency.index.held([Prompt(PROMPT, REPLICAS)])
        return found.depths[REPLICAS[0]]

    async def learn_until_shared(self) -> None:
        """Requests go on, and none of them fails, until the store holds what they learn."""
        async with asyncio.timeout(30):
            while True:
                await self.residency.learn(REPLICAS[0], PROMPT, 60)
                assert (await self.residency.held(PROMPT, REPLICAS))[REPLICAS[0]] == 4
                with contextlib.suppress(Exception):
                    if self.store.is_asked and await self.in_store() == 4:
                        return
                self.skipped_s += LONGEST_PAUSE_S
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def gateway(url: str) -> AsyncIterator[Gateway]:
    made = Gateway(url)
    yield made
    await made.store.aclose()


async def test_a_primary_that_dies_is_followed_to_the_one_that_the_sentinel_makes(tmp_path):
    with watched_pair(tmp_path) as (primary, spare, sentinel):
        url = f"redis+sentinel://127.0.0.1:1,127.0.0.1:{sentinel.port}/main/0"
        async with gateway(url) as one, gateway(url) as other:
            assert await one.store.connect()
            await one.residency.learn(REPLICAS[0], PROMPT, 60)
            assert await other.in_store() == 4

            primary.kill()
            await one.learn_until_shared()
            await other.learn_until_shared()

            assert b"role:master" in spare.command("INFO", "replication")


async def test_one_slot_is_found_in_a_cluster_by_any_node_and_followed_when_it_moves(tmp_path):
    with cluster_of_two(tmp_path) as nodes:
        slot = key_slot(b"turnout")
        owner, other = nodes if slot < 8192 else nodes[::-1]
        async with gateway(f"redis+cluster://127.0.0.1:{other.port}") as one:
            assert await one.store.connect()
            await one.residency.learn(REPLICAS[0], PROMPT, 60)
            await one.residency.forget(REPLICAS[1])
            assert await one.in_store() == 4

            owner.command("FLUSHALL")
            name = other.command("CLUSTER", "MYID").decode()
            for node in (other, owner):
                node.command("CLUSTER", "SETSLOT", slot, "NODE", name)
            await one.learn_until_shared()

            assert int(other.command("CLUSTER", "COUNTKEYSINSLOT", slot)) > 0


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://redis", "is the address of a Redis server"),
        ("redis+sentinel://:secret@h:1", "names no primary"),
        ("redis+sentinel://:secret@h:x/main", "a port that is no number"),
        ("redis+sentinel://:secret@h/main/two", "a database that is no number"),
        ("redis+cluster://:secret@h:1/3", "a cluster has no databases"),
        ("redis+cluster://:secret@", "an empty host"),
    ],
)
def test_what_is_no_address_is_told_without_its_password(url, problem):
    with pytest.raises(ValueError, match=problem) as caught:
        read_address(url)

    assert "secret" not in str(caught.value)
