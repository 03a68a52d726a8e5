"""A listener for every worker of the policy in force, for as long as it is in force."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from gateway.live.replicas import Replica
from gateway.state.residency import Residency

log = logging.getLogger("turnout.worker")

AGAIN_S = 5.0

LOOK_S = 0.25
"""How soon after a change of the policy its workers are listened to."""


async def hear_workers(in_force: Callable[[], Iterable[Replica]], residency: Residency) -> None:
    """Until cancelled. What was guessed of a worker's cache is forgotten when it tells that the cache is gone."""
    listening: dict[Replica, asyncio.Task[None]] = {}
    async with asyncio.TaskGroup() as tasks:
        while True:
            workers = {replica for replica in in_force() if replica.hear is not None}
            for gone in listening.keys() - workers:
                listening.pop(gone).cancel()
            for fresh in workers - listening.keys():
                listening[fresh] = tasks.create_task(_hear(fresh, residency), name=f"hear {fresh.name}")
            await asyncio.sleep(LOOK_S)


async def _hear(replica: Replica, residency: Residency) -> None:
    """Whatever goes wrong in hearing one replica ends neither the hearing of others nor the gateway."""
    assert replica.hear is not None
    while True:
        try:
            await replica.hear(forgetting(replica.name, residency))
        except Exception:
            log.exception("%s cannot be heard; it is tried again in %g s", replica.name, AGAIN_S)
        await asyncio.sleep(AGAIN_S)


def forgetting(replica: str, residency: Residency) -> Callable[[], Awaitable[None]]:
    async def forgot() -> None:
        await residency.forget(replica)

    return forgot
