"""What form of answer a request asks for, and whose weights judge an answer to it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.escalate.measures import MEASURES, measures_of
from policies.escalate.plan import Escalation, Weights
from policies.escalate.prior import PRIOR
from policies.escalate.said import Said, Wanted
from policies.escalate.signals import Signals, signals_of
from policies.escalate.task import CODE, CODE_MARKS, TASKS, task_of
from policies.escalate.verdict import verdict, verdict_on
from policies.escalate.weights_file import read_weights, write_weights

EVERY_SIGNAL = frozenset(kind for kind, _ in MEASURES.values())
LONG = Signals(whole=True, tokens=900, characters=4_000, asked_characters=200)
"""Usual for code; for a number it means that something went wrong."""

FITTED = Weights(
    bias=1.0,
    tasks={"code": Weights(bias=0.0, measures={"length": 1.0}), "number": Weights(bias=0.0, measures={"length": -1.0})},
)
PLAN = Escalation(name="e", to="large", under=0.5, signals=EVERY_SIGNAL, weights={"": PRIOR, "small": FITTED})


@pytest.mark.parametrize(
    ("question", "task"),
    [
        ("Which of these floats?\n\nA. a stone\nB. a cork\nC. a nail\nAnswer:", "choice"),
        ("Which of these floats? (A) a stone (B) a cork", "choice"),
        ("A) stones\nThey sink.", "text"),
        ("```\nint main() { return 0; }\n```\nWhat is wrong here?", "code"),
        ("Write a function that adds 2 and 3.", "code"),
        ("def f(x):\n    return x\n\nWhat does f(3) give, and f(4)?", "code"),
        ("Sort 3, 1 and 2 in Python, please", "code"),
        ("Ann has 3 pears and gives Bo 1. How many does she keep?", "number"),
        ("Anna hat 3 Birnen und kauft 4. Wie viele sind es?", "number"),
        ("Compute 17 * 23", "number"),
        ("Who ruled between 1914 and 1918?", "text"),
        ("Tell me of the sea", "text"),
        ("", "text"),
        ("The 3 of us met 4 others, who left. " * 100 + "What was the mood?", "text"),
    ],
)
def test_a_question_shows_what_form_it_asks_for(question: str, task: str) -> None:
    assert task_of(Wanted(question=question)) == task


def test_what_the_request_states_goes_before_what_its_question_shows() -> None:
    question = "A. red\nB. blue"
    assert task_of(Wanted(question=question, json=True)) == "json"
    assert task_of(Wanted(question=question, json=True, tools={"f": {}})) == "tools"


@given(st.text(), st.text(), st.booleans())
def test_every_request_has_one_task(question: str, tool: str, as_json: bool) -> None:
    tools = {tool: {}} if tool else {}
    assert task_of(Wanted(question=question, json=as_json, tools=tools)) in TASKS


@given(
    st.lists(st.sampled_from([*CODE_MARKS, "write a ", "x(", "\n", " ", "from a import b", "async def f:", "C+"])).map(
        "".join
    )
)
def test_the_quick_look_for_code_leaves_nothing_out(text: str) -> None:
    assert CODE.search(text) is None or any(mark in text for mark in CODE_MARKS)


def test_one_signal_may_mean_opposite_things() -> None:
    for_code, for_number = (verdict(PLAN, "small", LONG, task=task) for task in ("code", "number"))

    assert (for_code.escalates, for_code.weighed_as, for_code.why) == (False, "code", "p_correct 0.91")
    assert (for_number.escalates, for_number.weighed_as) == (True, "number")
    assert for_number.why == "p_correct 0.09 under 0.50, weighed as number: its length"


@pytest.mark.parametrize(("model", "task"), [("small", "text"), ("small", ""), ("other", "code")])
def test_where_a_task_has_no_weights_the_models_speak(model: str, task: str) -> None:
    found = verdict(PLAN, model, LONG, task=task)

    assert found.weighed_as == ""
    assert found.p_correct == verdict(PLAN, model, LONG).p_correct


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from([*TASKS, ""]), st.none() | st.floats(0, 1))
def test_the_measures_that_a_log_keeps_come_to_the_same_verdict(
    text: str, question: str, task: str, p: float | None
) -> None:
    weights = Weights(bias=0.3, measures=dict.fromkeys(MEASURES, 0.7), estimate=0.5, usual=0.2)
    plan = Escalation(name="e", to="l", under=0.5, signals=EVERY_SIGNAL, weights={"": PRIOR, "small": weights})
    live = verdict(plan, "small", signals_of(Said(text=text, ending="stop"), Wanted(question=question)), p, task)

    kept = json.loads(json.dumps(live.measures))

    assert verdict_on(plan, "small", kept, p, task) == live


def test_measures_that_say_nothing_take_no_room() -> None:
    assert measures_of(Signals(whole=False, tokens=9, characters=40, asked_characters=200)) == {}


def test_weights_of_tasks_come_back_from_their_file_and_a_file_without_them_still_loads() -> None:
    old = b'{"format": 1, "models": {"small": {"bias": 1.5, "measures": {"dip": 1}, "estimate": 0.25, "usual": 0.5}}}'
    assert read_weights(old).models == {"small": Weights(bias=1.5, measures={"dip": 1}, estimate=0.25, usual=0.5)}
    assert read_weights(write_weights({"small": FITTED}, {})).models == {"small": FITTED}


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        ({"sums": {"bias": 0}}, "sums"),
        ({"": {"bias": 0}}, "a task without a name"),
        ({"code": {"bias": 0, "tasks": {"text": {"bias": 0}}}}, "tasks within a task"),
        ({"code": {"bias": 0, "measures": {"dips": 1}}}, "dips, which is no measure"),
        ({"code": {"bias": 99}}, "weighs more than 50"),
    ],
)
def test_a_file_with_bad_weights_of_a_task_is_refused(tasks: object, why: str) -> None:
    data = json.dumps({"format": 1, "models": {"m": {"bias": 0, "tasks": tasks}}}).encode()
    with pytest.raises(ValueError, match=why):
        read_weights(data)
