"""Servers that are asked how they are: whether they take work, and how much they have, others' included."""

import asyncio
from collections.abc import Callable

from gateway.live.in_force import Live
from gateway.live.replicas import Replica

EVERY_S = 1.0
"""Between two questions to one server, from the answer to the one before."""

WITHIN_S = 2.0

TICK_S = 0.25


async def probe_replicas(live: Callable[[], Live]) -> None:
    """Until cancelled, every replica that is to be asked is, in a task of its own: one that hangs holds up nobody."""
    asking: dict[Replica, asyncio.Task[None]] = {}
    async with asyncio.TaskGroup() as tasks:
        while True:
            asked = {replica for replica in live() if replica.probe is not None}
            for gone in asking.keys() - asked:
                asking.pop(gone).cancel()
            for fresh in asked - asking.keys():
                asking[fresh] = tasks.create_task(_ask(fresh), name=f"probe {fresh.name}")
            await asyncio.sleep(TICK_S)


async def _ask(replica: Replica) -> None:
    assert replica.probe is not None
    while True:
        await replica.probe(WITHIN_S)
        await asyncio.sleep(EVERY_S)
