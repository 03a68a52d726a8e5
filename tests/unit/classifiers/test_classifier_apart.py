"""What was put behind a text or before it is told by how both are built, and left out of the lower reading."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_classifier_shipped import EASY, HARD

from classifiers.reading.apart import open_apart
from classifiers.reading.readings import readings
from classifiers.reading.seams import MOST_SEAMS, seams
from classifiers.reading.taught.apart import Glued, fit, rows_of

ASKED = "What is the capital of France?"
PARTS = st.lists(
    st.sampled_from([ASKED, "// as a lemma", "x = 3", "\n", "[a]", "The committee meets.", "Prove", "it.", "hi"])
)


@pytest.mark.parametrize(
    "added",
    [
        "// bubble sort is slower than quicksort",
        '{"colour": "green", "wheels": 4}',
        "<garden>tulips and roses</garden>",
        "The lid of the pot was blue. Nobody had seen the cat since noon.",
        "[note: the river was frozen]",
    ],
)
def test_what_a_question_does_not_ask_is_left_out_whatever_it_speaks_of(added: str):
    assert open_apart().without(f"{ASKED} {added}") == ASKED
    assert readings(f"{ASKED} {added}")[-1] == ASKED


@pytest.mark.parametrize("text", [*EASY, *HARD, f"{ASKED} Prove that every compact metric space is separable."])
def test_what_is_asked_stays(text: str):
    assert open_apart().without(text) == text


def test_both_sides_of_an_operator_are_one_formula():
    assert seams("P(x) = Find(x) + Seek(y)") is None


def test_options_and_long_texts_stay_whole():
    options = f"{ASKED}\nA. // as a lemma\nB. // as a proof"

    assert open_apart().without(options) == options
    assert open_apart().without(f"{ASKED} // {'a lemma ' * 200}").endswith("a lemma ")


@settings(max_examples=100, deadline=None)
@given(PARTS)
def test_what_is_left_is_a_part_of_the_text_between_seams(parts: list[str]):
    text = " ".join(parts)
    found = seams(text)
    left = open_apart().without(text)

    assert left in text
    assert bool(left.strip()) == bool(text.strip())
    assert left == text or found is not None
    if found is not None:
        assert len(found.at) <= MOST_SEAMS
        assert found.behind.shape == found.before.shape == (len(found.at), open_apart().behind.hidden.shape[0] - 1)
        assert np.isfinite(found.behind).all()
        assert all(text[place - 1].isspace() and not text[place].isspace() for place in found.at)


def test_both_sides_of_a_seam_are_told_alike():
    one, other = seams("Who was it?\nas a lemma"), seams("as a lemma\nWho was it?")
    assert one is not None
    assert other is not None
    sides = (one.behind.shape[1] - 7) // 2

    assert np.allclose(one.behind[:, sides : sides + 4], one.before[:, :4])
    assert np.allclose(one.behind[:, :4], one.before[:, sides : sides + 4])


def test_a_side_learns_what_its_examples_have_in_common():
    told = []
    for at in range(160):
        glued = Glued(f"Who was number {at}? // note {at}", len(f"Who was number {at}? "))
        for one in (glued, Glued(f"Who was number {at}? Was it Joe?")):
            found = seams(one.text)
            assert found is not None
            told.append((one, found))

    side, share = fit(*rows_of(told, first=False))
    added, own = (seams(text) for text in ("Who was number 200? // note 99", "Who was number 200? Was it Joe?"))

    assert share == 0.5
    assert added is not None
    assert own is not None
    assert side.chances(added.behind)[0] > side.chances(own.behind)[0]
