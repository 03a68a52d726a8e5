"""The world is looked at once for each turn of the event loop."""

import asyncio

from gateway.request.snapshot import Look
from policies.snapshot import Snapshot


class Counted:
    taken = 0

    def __call__(self) -> Snapshot:
        self.taken += 1
        return Snapshot(replicas={}, now=float(self.taken))


async def test_until_the_loop_has_turned_there_is_one_snapshot() -> None:
    take = Counted()
    look = Look(take)
    assert look() is look()
    assert take.taken == 1


async def test_whoever_waited_sees_the_world_as_it_is_then() -> None:
    take = Counted()
    look = Look(take)
    before = look()
    await asyncio.sleep(0)
    assert look().now > before.now
