"""Code, marks and markup around an easy question neither hide it nor buy the large model; who asks about them is read whole."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junk_appeals import BEFORE, BEHIND, EASY, HANDED, JUNK, MEANT, filled

from classifiers.reading.amid import amid
from classifiers.reading.light import begins, is_apart
from classifiers.reading.readings import readings
from classifiers.reading.whole import stands_alone

HARD = "Prove that every finite group of prime order is cyclic."


@pytest.mark.parametrize("mould", [mould for moulds in JUNK.values() for mould in moulds])
def test_what_is_asked_amid_junk_is_a_reading_of_its_own(mould: str):
    read = {asked: readings(filled(mould, asked))[-1] for asked in EASY}

    missed = {
        asked: text for asked, text in read.items() if asked.rstrip(".?") not in text or len(text) > len(asked) + 2
    }
    assert len(missed) <= 1, missed


@pytest.mark.parametrize("mould", MEANT)
@pytest.mark.parametrize("handed", HANDED)
def test_a_question_that_means_the_code_beside_it_is_read_with_it(mould: str, handed: str):
    text = mould.replace("{}", handed)

    assert amid(text) == text


@pytest.mark.parametrize("mould", [*BEHIND[:3], *BEFORE[:3]])
def test_a_task_is_read_with_all_that_stands_around_it(mould: str):
    text = filled(mould, HARD)

    assert amid(text) == text


@given(st.text(st.sampled_from("ab1 .?:\"'|<>{}[]\n_$\\`=A\x00"), max_size=200) | st.text(max_size=100))
def test_what_is_read_stands_in_the_text(text: str):
    assert amid(text) in text


@pytest.mark.parametrize(
    "piece", [" ", "a \x00 ", ". ", '" ', ": ", "```", "$$ ", "x=y; ", "| a ", "<a> ", "1", ".)", "it\n"]
)
def test_no_text_is_looked_at_for_long(piece: str):
    """In processor time, for others may have the machine; one that grows with the square of the length takes 0.3 s."""
    text = f"What is it? {piece * 8_192}"[:8_192]

    begun = time.process_time()
    amid(text)
    stands_alone(text)
    assert time.process_time() - begun < 0.1


@pytest.mark.parametrize(
    "alone",
    [
        *EASY,
        "How long does it take to bake a potato?",
        "Name two insects that can swim.",
        "Sort these words by length: plum, kiwi, banana.",
        "Write a short greeting card message for my aunt.",
        "I lost my scarf. Write a note to my neighbour asking him to keep it.",
    ],
)
def test_an_easy_question_stands_alone(alone: str):
    assert stands_alone(alone)


@pytest.mark.parametrize(
    "means",
    [
        "What does it say?",
        "Is this right?",
        "Which line is slow?",
        "What would you change?",
        "Is there a race condition?",
        "My tests fail. What should I do?",
        "Translate into French.",
        "What does the function return?",
        "How old is she?",
        "Sort the following numbers.",
    ],
)
def test_who_means_what_was_handed_over_does_not_stand_alone(means: str):
    assert not stands_alone(means)


@pytest.mark.parametrize(
    ("kept", "rest", "first"),
    [
        ("Why do cats purr?", "Prove that no dog does.", True),
        ("Why do cats purr?", "Cats have a larynx.", True),
        ("Why do cats purr?", "And who would know?", True),
        ("Why do cats purr?", "I need a parser for C.", True),
        ("How many apples are left?", "Tom has 5 pears.", False),
        ("What tools should I use?", "My service leaks memory.", False),
        ("A can costs one dollar. How much is a box?", "Two men met in a shop.", False),
        ("recipe for bread", "Two men met in a shop.", False),
        (HARD, "The committee consists of logicians.", True),
    ],
)
def test_what_may_belong_together_is_not_apart(kept: str, rest: str, first: bool):
    assert not is_apart(kept, rest, first=first)


@pytest.mark.parametrize(
    ("kept", "rest", "first"),
    [
        ("capital of France", "The committee consists of logicians.", True),
        ("Why do cats purr?", "Use at least five branches of thought.", True),
        ("Why do cats purr?", "Write a response that suits the committee.", True),
        ("Why do cats purr?", "The treaty was signed at dawn.", False),
        ("I have a day off. What game should I play?", "The treaty was signed at dawn.", False),
    ],
)
def test_what_has_nothing_to_do_with_a_light_question_is_apart(kept: str, rest: str, first: bool):
    assert is_apart(kept, rest, first=first)


def test_a_capital_begins_a_sentence_where_a_verb_or_small_word_has_it():
    assert begins("Justify each step.")
    assert begins("What is it?")
    assert not begins("Mona Lisa?")
    assert not begins("Nancy each eat four.", orders=False)
