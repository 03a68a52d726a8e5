"""What is seen of an answer, by example: refusals, loops, forms, reckonings."""

import pytest

from policies.escalate.reckoning import reckoning
from policies.escalate.refusal import declines
from policies.escalate.repetition import repeated
from policies.escalate.said import Said, SaidCall, Wanted
from policies.escalate.shape import misshapen
from policies.escalate.signals import FEWEST_CUT, signals_of

WEATHER = {"weather": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I cannot provide medical advice.",
        "As an AI language model, I don't have access to real-time data.",
        "I am unable to open links.",
        "I don't know.",
        "Es tut mir leid, das kann ich leider nicht sagen.",
        "Lo siento, pero no puedo ayudarte con eso.",
        "Je suis désolé, mais je ne peux pas répondre.",
    ],
)
def test_an_answer_that_declines_is_seen(text: str) -> None:
    assert declines(text)


@pytest.mark.parametrize(
    "text",
    [
        "You could write: 'I'm sorry I missed your call.'",
        "He was sorry that she could not come.",
        "Sure! Here is how to apologise.",
        "The function cannot return None." + " It returns a list." * 10 + " I can't help it.",
        "",
    ],
)
def test_an_answer_that_only_speaks_of_declining_is_none(text: str) -> None:
    assert not declines(text)


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("I think that I think that I think that I think that I think that I think", True),
        ("no " * 40, True),
        ("The quick brown fox jumps over the lazy dog and then runs home to its den", False),
        ("- apples: 3\n- pears: 4\n- plums: 5\n- figs: 6\n- grapes: 7\n- kiwis: 8", False),
        ("ha ha ha", False),
    ],
)
def test_a_loop_is_told_from_a_text(text: str, loops: bool) -> None:
    assert (repeated(text) > 0.5) is loops


@pytest.mark.parametrize(
    ("said", "wanted", "broken"),
    [
        (Said(text='{"a": 1}', ending="stop"), Wanted(json=True), False),
        (Said(text='{"a": 1', ending="stop"), Wanted(json=True), True),
        (Said(text='{"a": 1'), Wanted(json=True), False),
        (Said(text="Sure! Here is"), Wanted(json=True), True),
        (Said(text="Sure! Here is", ending="stop"), Wanted(), False),
        (Said(text="{}", ending="stop"), Wanted(json=True, schema={"required": ["a"]}), True),
        (Said(calls=(SaidCall("weather", '{"city": "Ulm"}'),), ending="tool_calls"), Wanted(tools=WEATHER), False),
        (Said(calls=(SaidCall("weather", '{"town": "Ulm"}'),), ending="tool_calls"), Wanted(tools=WEATHER), True),
        (Said(calls=(SaidCall("wether", "{}"),), ending="tool_calls"), Wanted(tools=WEATHER), True),
        (Said(calls=(SaidCall("weather", '{"ci'),)), Wanted(tools=WEATHER), False),
    ],
)
def test_the_form_that_was_asked_for(said: Said, wanted: Wanted, broken: bool) -> None:
    assert misshapen(said, wanted) is broken


def test_only_what_is_whole_can_be_empty() -> None:
    assert signals_of(Said(ending="stop"), Wanted()).empty
    assert not signals_of(Said(), Wanted()).empty
    assert not signals_of(Said(calls=(SaidCall("f", "{}"),), ending="tool_calls"), Wanted()).empty


def test_a_short_bound_that_the_client_set_is_no_cut() -> None:
    assert signals_of(Said(text="x", tokens=FEWEST_CUT, ending="length"), Wanted()).cut
    assert not signals_of(Said(text="x", tokens=FEWEST_CUT - 1, ending="length"), Wanted()).cut


def test_a_reckoning_is_followed_from_the_question_to_its_end() -> None:
    question = (
        "Janet has 16 eggs. She eats three and bakes with 4. She sells the rest at $2 each. How much does she make?"
    )

    good = reckoning(question, "16 - 3 = 13. 13 - 4 = 9. 9 * 2 = 18. She makes $18.")
    bad = reckoning(question, "16 - 5 = 11. 16 * 2 = 33. However, she makes $40.")

    assert (good.steps, good.false_steps, good.unused, good.invented, good.idle) == (3, 0, 0.0, 0, 0)
    assert not good.loose_end
    assert not good.hedges
    assert (bad.steps, bad.false_steps, bad.invented, bad.idle) == (2, 1, 1, 1)
    assert bad.loose_end
    assert bad.hedges
