"""A client that does not read: its answer takes no longer than the policy lets any take, and leaves nothing behind."""

import asyncio

import pytest
from servers.cascade_world import Beat, Came, Scripted, Stage
from servers.virtual_time import run_virtual

from backends.messages import Delta, Finish
from gateway.errors import Left
from gateway.request.egress import LAST_WORDS_S
from policies.policy import Resilience

TOTAL_S = 5.0
SHORT: list[Beat] = [(0.1, Delta("a")), (0.0, Finish("stop"))]
LONG: list[Beat] = [*[(0.1, Delta("a"))] * 1_000, (0.0, Finish("stop"))]


@pytest.mark.parametrize("beats", [SHORT, LONG], ids=["at the end", "in the middle"])
def test_who_does_not_read_is_given_up(beats: list[Beat]) -> None:
    came: list[tuple[Came, float]] = []

    async def ask() -> None:
        stage = Stage(resilience=Resilience(total_s=TOTAL_S))
        answered = await stage.play(Scripted(beats), Scripted(beats), reads=False)
        came.append((answered, asyncio.get_running_loop().time()))

    run_virtual(ask())

    (answered, ended_at), *_ = came
    assert isinstance(answered.error, Left)
    assert ended_at <= TOTAL_S + LAST_WORDS_S + 0.1
    assert answered.client.ends == 0
