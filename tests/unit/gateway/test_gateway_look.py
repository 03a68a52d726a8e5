"""The world is looked at once for each turn of the event loop."""

import asyncio
import itertools
import time

import pytest

from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.outlook import Outlook
from gateway.request.snapshot import World
from gateway.state.memory import MemoryResidency
from policies.catalogue import Model
from policies.facts import Facts
from policies.policy import Policy, Route

HERE = "http://m/v1"


@pytest.fixture
def outlook() -> Outlook:
    """Of a world whose clock goes on with each look."""
    looks = itertools.count(1)
    policy = Policy(hash="h", name="p", models={"m": Model(name="m", at=(HERE,))}, routes=(Route(name="r", use="m"),))
    live = Live(policy, {"m": (Replica("m", HERE, HERE),)})
    world = World(residency=MemoryResidency(10, time.monotonic), now=lambda: float(next(looks)))
    return Outlook(policy, live, Facts(), prepared={}, seen={}, world=world, draw=0.25, forced={"e": "a"}, ramps={})


async def test_until_the_loop_has_turned_there_is_one_view(outlook: Outlook) -> None:
    seen = outlook.field()
    assert outlook.field() is seen
    assert (seen.snapshot.now, seen.snapshot.draw, seen.snapshot.experiments) == (1.0, 0.25, {"e": "a"})


async def test_whoever_waited_sees_the_world_as_it_is_then(outlook: Outlook) -> None:
    before = outlook.field()
    await asyncio.sleep(0)
    assert outlook.field().snapshot.now == before.snapshot.now + 1
