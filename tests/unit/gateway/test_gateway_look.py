"""The world is looked at once by a request that waits for nobody, and anew by one that waited."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable

import pytest

from backends.dialects.openai_chat.request import read_chat
from backends.messages import ChatRequest
from classifiers.question import Question
from gateway.live.in_force import Live
from gateway.live.replicas import Claim, Replica
from gateway.request.identity import Principal
from gateway.request.judge import judge
from gateway.request.outlook import Outlook, Variants
from gateway.request.snapshot import World
from gateway.state.memory import MemoryResidency
from policies.catalogue import Model
from policies.estimates import Estimate, Span, Unsettled
from policies.facts import Facts
from policies.policy import Difficulty, Policy, Route

HERE = "http://m/v1"
POLICY = Policy(
    hash="h",
    name="p",
    models={"m": Model(name="m", at=(HERE,))},
    routes=(Route(name="r", use="m"),),
    difficulty=Difficulty(),
)
EASY = Estimate(p_good={"m": 0.9})


@pytest.fixture
def world() -> World:
    """Its clock goes on with each look."""
    looks = itertools.count(1)
    return World(residency=MemoryResidency(10, time.monotonic), now=lambda: float(next(looks)))


class AtOnce:
    """A classifier that asks what a quick estimate leaves open, and knows the answer."""

    def begin(
        self, question: Question, within_s: float, unsettled: Unsettled | None = None
    ) -> Estimate | Awaitable[Estimate]:
        assert unsettled is not None
        unsettled(Span(EASY, EASY))
        return EASY

    def numbers(self, question: Question) -> Callable[[], None]:
        return lambda: None


class Later(AtOnce):
    """The same after a turn of the event loop, in which somebody else is given to the replica."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self.meanwhile = meanwhile

    def begin(
        self, question: Question, within_s: float, unsettled: Unsettled | None = None
    ) -> Estimate | Awaitable[Estimate]:
        super().begin(question, within_s, unsettled)
        return self._soon()

    async def _soon(self) -> Estimate:
        asyncio.get_running_loop().call_soon(self.meanwhile)
        await asyncio.sleep(0)
        return EASY


def request() -> ChatRequest:
    return read_chat(b'{"model": "auto", "messages": [{"role": "user", "content": "hi"}]}')


def test_a_view_stays_until_it_is_forgotten(world: World) -> None:
    live = Live(POLICY, {"m": (Replica("m", HERE, HERE),)})
    outlook = Outlook(POLICY, live, Variants(forced={"e": "a"}), Facts(), {}, {}, world, 0.25)

    seen = outlook.field()
    assert outlook.field() is seen
    assert (seen.snapshot.now, seen.snapshot.draw, seen.snapshot.experiments) == (1.0, 0.25, {"e": "a"})

    outlook.forget()
    assert outlook.field().snapshot.now == 2.0


async def test_whoever_waits_for_nobody_decides_on_what_its_estimate_was_asked_with(world: World) -> None:
    live = Live(POLICY, {"m": (Replica("m", HERE, HERE),)}, AtOnce())
    judged = await judge(live, request(), Principal(), {}, world)
    assert judged.snapshot.now == 1.0


async def test_whoever_waited_sees_the_world_as_it_is_then(world: World) -> None:
    replica = Replica("m", HERE, HERE)
    live = Live(POLICY, {"m": (replica,)}, Later(lambda: Claim(replica, 100)))
    judged = await judge(live, request(), Principal(), {}, world)
    assert (judged.snapshot.now, judged.snapshot.replicas["m"][0].running) == (2.0, 1)
