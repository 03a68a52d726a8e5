"""Hearing one replica may break; the others are heard, and the gateway goes on."""

import asyncio
import time

from gateway.live.replicas import Forgot, Replica
from gateway.state.memory import MemoryResidency
from gateway.worker.hear import hear_workers


async def test_a_replica_that_cannot_be_heard_at_all_ends_nothing():
    heard = asyncio.Event()

    async def breaks(forgot: Forgot) -> None:
        raise ZeroDivisionError("a fault of ours")

    async def hears(forgot: Forgot) -> None:
        await forgot()
        heard.set()
        await asyncio.Event().wait()

    replicas = [Replica("m", "a", "a", hear=breaks), Replica("m", "b", "b", hear=hears)]
    hearing = asyncio.create_task(hear_workers(lambda: replicas, MemoryResidency(10, time.monotonic)))

    async with asyncio.timeout(5):
        await heard.wait()
    await asyncio.sleep(0)

    assert not hearing.done()
    hearing.cancel()
