"""What a route learns of its own escalations, request by request, and what it does about it."""

import msgspec
from servers.cascade_world import PLAN, Beat, Came, Scripted, Stage, fresh_world
from servers.virtual_time import run_virtual

from backends.messages import Delta, Finish, Usage
from policies.escalate import ledger
from policies.escalate.plan import Escalation

REFUSAL = "I'm sorry, but I can't help with that."


def says(text: str, tokens: int = 10) -> list[Beat]:
    return [(0.1, Delta(text)), (0.0, Finish("stop")), (0.0, Usage(100, tokens))]


def ask_often(times: int, small: list[Beat], large: list[Beat], plan: Escalation = PLAN) -> list[Came]:
    came: list[Came] = []

    async def ask() -> None:
        world, stage = fresh_world(), Stage(plan)
        for _ in range(times):
            came.append(await stage.play(Scripted(small), Scripted(large), world=world))

    run_virtual(ask())
    return came


def judgements(came: list[Came]) -> list[str]:
    return [one.books.judgement for one in came]


def test_a_route_whose_large_model_refuses_too_is_left_alone_for_a_while() -> None:
    came = ask_often(ledger.FEWEST_JUDGED + 5, says(REFUSAL), says("I cannot help with this."))

    assert judgements(came) == ["escalated"] * ledger.FEWEST_JUDGED + [""] * 5
    decision = came[-1].books.decision
    assert decision is not None
    assert decision.hold is None
    assert decision.unheld == "careful does not pay: of the latest 20 escalations 0 got a better answer"
    assert came[-1].client.text == REFUSAL


def test_a_route_whose_large_model_answers_better_goes_on() -> None:
    cheap_enough = ask_often(30, says(REFUSAL), says("Gladly."))
    assert judgements(cheap_enough) == ["escalated"] * 30


def test_a_route_that_charges_more_than_the_large_model_alone_is_left_alone() -> None:
    came = ask_often(60, says(REFUSAL, tokens=4000), says("Gladly.", tokens=10))

    assert judgements(came)[: 2 * ledger.FEWEST_JUDGED] == ["escalated"] * 2 * ledger.FEWEST_JUDGED
    assert judgements(came)[-1] == ""
    decision = came[-1].books.decision
    assert decision is not None
    assert "of what the large model alone would" in decision.unheld


def test_the_share_is_kept_and_saved_up_by_answers_that_were_good() -> None:
    plan = msgspec.structs.replace(PLAN, at_most=0.1)

    came = ask_often(41, says(REFUSAL), says("Gladly."), plan)

    assert judgements(came).count("escalated") == 1 + 4
    assert judgements(came).count("over_limit") == 36
    assert {one.client.text for one in came} == {REFUSAL, "Gladly."}
