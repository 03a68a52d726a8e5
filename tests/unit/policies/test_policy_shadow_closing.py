"""What two answers come to, where a difference means that one of them is wrong; and what that says of who is right."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.escalate.said import Said, SaidCall, Wanted
from policies.shadows.agreed import COINCIDE, right_if_other, right_if_same
from policies.shadows.closing import comes_to

JSON = Wanted(json=True, schema={"type": "object", "required": ["mood"]})
RECKONING = Wanted(question="Ann has 3 pears and buys 5. How many has she?")
LETTER = "Dear Ann, I turn 30 and would love to see you there, with all the others of our old class. "
TOOLS = Wanted(tools={"find": {"type": "object"}})


def said(text: str = "", **more: object) -> Said:
    return Said(text=text, ending="stop", **more)  # type: ignore[arg-type]


def calls(name: str, **arguments: object) -> Said:
    return Said(calls=(SaidCall(name, json.dumps(arguments)),), ending="tool_calls")


@pytest.mark.parametrize(
    ("first", "second", "wanted", "found"),
    [
        (said("Because of gravity.\nThe answer is (C)."), said("C"), Wanted(), "same"),
        (said("I take option B."), said("The answer is A."), Wanted(), "other"),
        (said("6 * 7 = 42"), said("So it comes to **42 apples**."), Wanted(), "same"),
        (said("It is -5"), said("It is 5"), Wanted(), "other"),
        (said("It is 5."), said("The answer is B."), Wanted(), ""),
        (said("In 1999 he left for good."), said("He left in 1998 and never came back."), Wanted(), ""),
        (said("Good morning!"), said("Good morning!"), Wanted(), ""),
        (Said(text="So it is 4", ending="length"), said("4"), Wanted(), ""),
        (said('{"mood": "good", "n": 1}'), said('{"n":1,"mood":"good"}'), JSON, "same"),
        (said('{"mood": "good"}'), said('{"mood": "bad"}'), JSON, "other"),
        (said('{"mood": "good"}'), said("It is good"), JSON, "other"),
        (said('{"mood": "good"}'), said('{"moods": "good"}'), JSON, "other"),
        (said("It is good"), said('{"mood": "good"}'), JSON, ""),
        (said('{"mood": "it was a good day"}'), said('{"mood": "we had a fine day"}'), JSON, ""),
        (calls("find", city="Paris"), calls("find", city="Paris"), TOOLS, "same"),
        (calls("find", city="Paris"), calls("find", city="London"), TOOLS, "other"),
        (calls("find", city="Paris"), calls("lose", city="Paris"), TOOLS, "other"),
        (calls("find", words="weather in Paris"), calls("find", words="Paris weather today"), TOOLS, ""),
        (calls("find", city="Paris"), said("Which city?"), TOOLS, ""),
        (said(""), said(""), Wanted(), ""),
        (said(LETTER + "It begins at 8."), said(LETTER + "It ends by 11."), Wanted(question="Write an invitation"), ""),
        (said(LETTER + "He died in 1999."), said(LETTER + "She was born in 2005."), Wanted(question="A story!"), ""),
        (said(LETTER + "So it is 8."), said(LETTER + "So it is 11 pears."), RECKONING, "other"),
        (said(LETTER + "So it is 8."), said("8 pears"), RECKONING, "same"),
        (said(LETTER + "答案是42"), said("42个"), RECKONING, "same"),
        (said("6.02e23"), said("7.1e23"), Wanted(), ""),
        (said("6.02e+23"), said("7.1e+23"), Wanted(), ""),
        (said("It is 3 × 10^8"), said("It is 5 × 10^8"), RECKONING, ""),
        (said("3 × 10^{-8}"), said("5 × 10^-8"), RECKONING, ""),
        (said("2^10"), said("3^10"), Wanted(), ""),
        (said("x_1"), said("y_1"), Wanted(), ""),
        (said("$1,350.00"), said("1350"), Wanted(), "same"),
        (said('{"paid": true}'), said('{"paid": 1}'), Wanted(json=True), "other"),
        (said('{"n": [0]}'), said('{"n": [false]}'), Wanted(json=True), "other"),
        (said('{"n": 1}'), said('{"n": 1.0}'), Wanted(json=True), "same"),
        (calls("find", open=True), calls("find", open=1), TOOLS, "other"),
    ],
)
def test_a_difference_is_told_only_where_it_means_that_one_is_wrong(first, second, wanted, found):
    assert comes_to(first, second, wanted) == found


@given(st.text(max_size=200), st.text(max_size=200), st.booleans(), st.booleans())
def test_whatever_is_said_the_order_makes_no_difference_but_for_a_form_that_is_broken(one, other, as_json, calling):
    wanted = Wanted(json=as_json)
    first, second = said(one), Said(text=other, calls=(SaidCall("f", other),) if calling else (), ending="stop")

    found = comes_to(first, second, wanted)

    assert found in ("same", "other", "")
    assert found == comes_to(second, first, wanted) or as_json or calling


def test_json_that_is_very_deep_is_no_name():
    deep = "[" * 60 + "]" * 60
    assert comes_to(said(deep), said(deep), JSON) == ""


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98))
def test_over_pairs_that_agree_and_pairs_that_differ_chances_come_to_what_they_were(one, other):
    """So whoever hears both is not told that models are better than they are."""
    agree = one * other + COINCIDE * (1 - one) * (1 - other)

    mean = agree * right_if_same(one, other) + (1 - agree) * right_if_other(one, other)

    assert mean == pytest.approx(one)


@given(st.floats(0, 1), st.floats(0, 1))
def test_chances_stay_chances_whatever_was_estimated(one, other):
    assert 0 < right_if_same(one, other) == right_if_same(other, one) < 1
    assert 0 < right_if_other(one, other) + right_if_other(other, one) < 1 + 1e-9
