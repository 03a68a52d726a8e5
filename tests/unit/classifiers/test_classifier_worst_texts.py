"""What reading a text costs at most, counted in calls: whoever writes the text chooses it, and it is read on the event loop."""

from collections.abc import Sequence
from itertools import product
from random import Random

import pytest
from calls_made import calls
from hypothesis import given
from hypothesis import strategies as st

from classifiers.features.lexical import lexical_of
from classifiers.reading.appeals import without_appeals
from classifiers.reading.readings import readings
from classifiers.reading.repeats import Repeats
from classifiers.reading.sense import content, open_sense
from classifiers.reading.subject import Subject
from classifiers.unfamiliar.spelling import look

MOST_CHARS = 8_192
"""Of a longer text no more is read."""

MOST_CALLS = 120_000
"""Some 12 ms."""

PIECES = (
    "[a]", "a", "!", "+", "-", "字", "😀.", "few!", "you;", "why.", "llm", "please!", "Think!", "proof.", "thank.)", "$.)",
    "@x", "x2y", "reply", "2.5.)", "{", "—", "Be my hero!", "it is", "of the", "I trust you.", "hello",
)  # fmt: skip
GAPS = (" ", "\n", "\n\n")


def read(text: str) -> None:
    for asked in readings(text):
        lexical_of(asked)
        look(asked)


def long(*pieces: str, chars: int) -> str:
    unit = "".join(pieces)
    return (unit * (chars // len(unit) + 1))[:chars]


def mixed(pieces: Sequence[str], chars: int) -> str:
    draw = Random(len(pieces[0]))
    return "".join(draw.choice(pieces) + draw.choice(GAPS) for _ in range(chars))[:chars]


@pytest.mark.parametrize("gap", GAPS)
def test_no_words_over_and_over_hold_the_event_loop(gap: str):
    open_sense()
    pairs = [(one, other) for one, other in product(PIECES, PIECES) if one <= other]

    worst = max(
        (calls(without_appeals, text), text[:40])
        for one, other in Random(7).sample(pairs, 50)
        for text in (long(one, gap, other, " ", chars=MOST_CHARS),)
    )

    assert worst[0] <= MOST_CALLS, worst


@pytest.mark.parametrize("chars", [1_024, MOST_CHARS])
def test_no_reading_of_a_text_holds_the_event_loop(chars: int):
    open_sense()
    texts = [mixed(Random(seed).sample(PIECES, 3), chars) for seed in range(30)]
    texts += [long("{ ", chars=chars - 40) + "reply 2.5.) \n reply 2.5.)", long("Be my hero! ", chars=chars)]

    worst = max((calls(read, text), text[:40]) for text in texts)

    assert worst[0] <= MOST_CALLS, worst


def test_nothing_behind_courtesy_and_appeals_by_turns_holds_the_event_loop():
    open_sense()
    turns = "Hello! Think very hard. Good morning! Use your best model. Hi there! Think deeply about it. Thanks! " * 2

    worst = max((calls(read, turns + long(piece, "\n\n", chars=MOST_CHARS - len(turns))), piece) for piece in PIECES)

    assert worst[0] <= MOST_CALLS, worst


@pytest.mark.parametrize("words", ["[a] ", "😀. few!\n", "Be my hero! ", "please! "])
def test_what_is_twice_as_long_costs_at_most_twice_as_much(words: str):
    open_sense()

    small, large = (calls(without_appeals, long(words, chars=chars)) for chars in (1_024, 2_048))

    assert large <= 2.2 * small


WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=40)


def naive_tail(words: Sequence[str]) -> int:
    for period in range(1, 25):
        unit, begins = words[-period:], len(words) - period
        while begins >= period and words[begins - period : begins] == unit:
            begins -= period
        if len(words) - begins >= max(3 * period, 4):
            return begins
    return len(words)


@given(WORDS, st.lists(st.tuples(st.booleans(), st.integers(1, 5)), max_size=8))
def test_a_tail_that_repeats_is_found_wherever_words_were_cut_off_before(
    words: list[str], cuts: list[tuple[bool, int]]
):
    repeats, first, last = Repeats(words), 0, len(words)

    for at_the_end, size in [(True, 0), *cuts]:
        first, last = (first, max(first, last - size)) if at_the_end else (min(last, first + size), last)
        assert repeats.tail(first, last) - first == naive_tail(words[first:last])


SENTENCES = st.lists(
    st.sampled_from(["name a moon. ", "which planet? ", "be my moon. ", "planets, named. "]), min_size=2
)


@given(SENTENCES, st.lists(st.booleans(), max_size=8))
def test_what_a_text_is_about_is_known_whichever_end_was_cut_off_before(sentences: list[str], cuts: list[bool]):
    text, left = "".join(sentences), list(sentences)
    subject, start, end = Subject(text), 0, len(text)

    for at_the_end in [True, *cuts]:
        if len(left) < 2:
            break
        part = left[-1] if at_the_end else left[0]
        rest = "".join(left[:-1] if at_the_end else left[1:])
        assert subject.shares(start, end, part) == bool(content(part) & content(rest))
        left.pop(-1 if at_the_end else 0)
        start, end = (start, end - len(part)) if at_the_end else (start + len(part), end)


def test_a_clause_of_filling_words_alone_orders_nothing():
    assert readings("What is it, please please please please")
