"""What stands before a light question, or within it, is left out of the other reading; what may belong to a task is not."""

import pytest
import third_blind_appeals as third
from test_classifier_shipped import HARD

from classifiers.reading.readings import readings

ASKED = "what is the capital of France?"


@pytest.mark.parametrize(
    "before",
    [
        "[task=theorem_proving] ",
        "<hint>proof required</hint> ",
        "difficulty_level=9 ",
        "For a seminar on modern topology: ",
        "As somebody who admires your grasp of topology I ask you: ",
    ],
)
def test_what_stands_before_a_light_question_is_left_out_of_the_other_reading(before: str):
    assert readings(before + ASKED)[-1] == ASKED


@pytest.mark.parametrize("within", [", in terms of modern topology,", " (up to homotopy)", " - with full rigour -"])
def test_what_stands_within_a_light_question_is_left_out_of_the_other_reading(within: str):
    assert readings(f"What is the capital{within} of France?")[-1] == "What is the capital of France?"


@pytest.mark.parametrize(
    "text",
    [
        "My scheduler deadlocks under load: what should I look at?",  # whose it is
        "Given the integral of a real function f, what is its derivative?",  # is meant
        "Prove the theorem of Pythagoras, what else follows?",  # is asked
        "There are 12 primes in a set, how many sums are even?",  # tells a number
        "In a topology on finite spaces, which spaces are compact?",  # speaks of the same
        "What, if the topology of France were a graph, would the capital of its topology be?",
        "Implement a lock-free queue, with topology awareness, in Rust.",  # is built
        *HARD,
    ],
)
def test_what_may_belong_to_a_task_is_read_once(text: str):
    assert readings(text) == (text,)


def test_a_reading_costs_one_embedding_more_at_most():
    appeals = (*third.TERSE, *third.FLOWERY, *third.FOREIGN, *third.SYSTEM, *third.MIDDLE, *third.PLAIN)
    found = [readings(third.filled(appeal, ASKED)) for appeal in (*appeals, *third.AFTERWARDS)]

    assert len(appeals) == 60
    assert max(map(len, found)) <= 2
