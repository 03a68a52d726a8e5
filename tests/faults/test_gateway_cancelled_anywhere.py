"""A request that is cancelled wherever it waits, once or twice, holds nothing afterwards: no claim on a replica, no answer, no
task."""

from collections.abc import Sequence
from itertools import count

import msgspec
import pytest
from servers.cascade_world import PLAN, Beat, Came, Scripted, Stage
from servers.virtual_time import run_virtual

from backends.errors import UpstreamError
from backends.messages import Delta, Finish, TokenLogprob, Usage
from policies.escalate.plan import Escalation

SURE, DOUBTFUL, LOST = -0.05, -2.0, -5.0
EARLY = msgspec.structs.replace(PLAN, early_under=0.9, hold_s=5.0)
ASKING = msgspec.structs.replace(PLAN, second="other", under=0.6)
BUSY = UpstreamError("overloaded", "busy", sent=False)


def says(text: str, after_s: float = 0.1) -> list[Beat]:
    return [(after_s, Delta(text)), (0.0, Finish("stop")), (0.0, Usage(100, 10))]


def tokens(*logprobs: float) -> list[Beat]:
    said = [(0.1, Delta("s ", 0, (TokenLogprob("s", b"s", logprob),))) for logprob in logprobs]
    return [*said, (0.0, Finish("stop")), (0.0, Usage(100, len(logprobs)))]


SCENES: dict[str, tuple[Escalation, bool, Sequence[Beat], Sequence[Beat]]] = {
    "kept": (PLAN, True, tokens(*[SURE] * 8), says("L")),
    "given up": (PLAN, True, tokens(*[LOST] * 8), says("L")),
    "a head start that is taken": (EARLY, True, tokens(*[LOST] * 7), says("L", 0.5)),
    "a head start in vain": (EARLY, True, tokens(SURE, DOUBTFUL, DOUBTFUL, *[SURE] * 5), says("L", 30.0)),
    "a second opinion that agrees": (ASKING, False, says("The answer is (B)."), says("L")),
    "a second opinion on nothing": (ASKING, False, [(0.0, BUSY)], says("L")),
}


def play(scene: str, cut_at: Sequence[int]) -> Came:
    """On a stage that sees to it that no task and no claim is left."""
    plan, stream, *scripts = SCENES[scene]
    small, large, other = (Scripted(script) for script in (*scripts, says("B", 0.3)))
    came: list[Came] = []

    async def ask() -> None:
        came.append(await Stage(plan).play(small, large, other=other, stream=stream, cut_at=cut_at))

    run_virtual(ask())
    assert all(answer.closed_at is not None for asked in (small, large, other) for answer in asked.answers)
    assert (came[0].books.beside is not None) >= bool(other.calls), "who was asked beside is charged"
    return came[0]


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_cancelled_in_any_turn_holds_nothing(scene: str) -> None:
    left = 0
    for turn in count(1):
        if not play(scene, (turn,)).left:
            break
        left += 1
        for again in ((turn + 1,), (turn + 2,), (turn + 1, turn + 2)):
            assert play(scene, (turn, *again)).left
    assert left > 3
