"""A second opinion: compared, charged, waited for a little, and never heard."""

import msgspec
import pytest
from servers.cascade_world import PLAN, Beat, Came, Scripted, Stage
from servers.virtual_time import run_virtual

from backends.errors import UpstreamError
from backends.messages import Delta, Finish, Usage
from policies.escalate.plan import Escalation

ASKING = msgspec.structs.replace(PLAN, second="other", under=0.6)


def says(text: str, after_s: float = 0.1) -> list[Beat]:
    return [(after_s, Delta(text)), (0.0, Finish("stop")), (0.0, Usage(100, 10))]


def play(
    small: list[Beat],
    other: list[Beat],
    *,
    plan: Escalation = ASKING,
    stream: bool = False,
    leaves_after_s: float | None = None,
) -> tuple[Came, Scripted]:
    asked = Scripted(other)
    came: list[Came] = []

    async def ask() -> None:
        large = Scripted(says("The answer is (C)."))
        stage = Stage(plan)
        came.append(await stage.play(Scripted(small), large, other=asked, stream=stream, leaves_after_s=leaves_after_s))

    run_virtual(ask())
    return came[0], asked


def test_two_that_come_to_the_same_are_believed() -> None:
    came, _ = play(says("The answer is (B)."), says("B"))
    assert came.client.text == "The answer is (B)."
    assert came.books.judgement == "kept"


def test_two_that_disagree_are_not() -> None:
    came, _ = play(says("The answer is (B)."), says("(D)"))
    assert came.client.text == "The answer is (C)."
    assert came.books.why_given_up == "p_correct 0.57 under 0.60: another model disagrees"


def test_both_are_charged_whatever_came_of_it() -> None:
    came, _ = play(says("The answer is (B)."), says("(D)"))
    small, other, large = 100 * 1 + 10 * 2, 110 * 2, 100 * 10 + 10 * 20
    settled = came.books.close()
    assert (settled.abandoned_microusd, settled.beside_microusd, settled.microusd) == (
        small,
        other,
        small + other + large,
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(says("(D)", after_s=30), id="late"),
        pytest.param([(0.0, UpstreamError("overloaded", "busy", sent=False))], id="away"),
        pytest.param([(0.1, Delta("(D")), (0.0, UpstreamError("stream_cut", "cut", sent=True))], id="cut"),
        pytest.param(says(""), id="silent"),
    ],
)
def test_an_opinion_that_does_not_come_changes_nothing_and_nobody_waits_for_it(other: list[Beat]) -> None:
    came, asked = play(says("The answer is (B)."), other)
    assert came.client.text == "The answer is (B)."
    assert came.client.pieces[0][0] <= 0.1 + ASKING.hold_s + 0.005
    assert all(answer.closed_at is not None for answer in asked.answers)


def test_a_stream_asks_nobody_else() -> None:
    came, asked = play(says("The answer is (B)."), says("(D)"), stream=True)
    assert asked.calls == []
    assert came.client.text == "The answer is (B)."


def test_a_client_that_leaves_ends_both() -> None:
    came, asked = play(says("The answer is (B).", after_s=5), says("(D)", after_s=5), leaves_after_s=1.0)
    assert came.left
    assert [answer.closed_at for answer in asked.answers] == [1.0]
