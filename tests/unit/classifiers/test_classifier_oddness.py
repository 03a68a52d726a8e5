"""How a text is written: what is like training is seldom odd, junk and other languages are; neither buys anything."""

import numpy as np
import pytest
from blind_appeals import TASKS
from hypothesis import given
from hypothesis import strategies as st
from odd_texts import LOOKED_AT, UNSEEN
from other_languages import ENGLISH, OTHER
from test_classifier_shipped import EASY, HARD

from classifiers import artefact
from classifiers.reading.appeals import without_appeals
from classifiers.reading.lexicon import GROUPS
from classifiers.unfamiliar import oddness
from classifiers.unfamiliar.doubt import oddly_written
from classifiers.unfamiliar.oddness import ASPECTS, MISS, Oddness
from classifiers.unfamiliar.spelling import look, spell

WORDS = sorted(word for words in GROUPS.values() for word in words)
GLUE = sorted(GROUPS["function_word"])


def drawn(size: int, seed: int) -> list[str]:
    """Sentences of a kind: English words, every other one glue, some with a figure."""
    dice = np.random.default_rng(seed)
    made = []
    for _ in range(size):
        words = [str(dice.choice(GLUE if at % 2 else WORDS)) for at in range(dice.integers(3, 30))]
        made.append(" ".join([*words, str(dice.integers(100))] if dice.random() < 0.3 else words) + "?")
    return made


def learned() -> Oddness:
    texts = spell(drawn(300, 1))
    return oddness.fit(texts, np.ones(300)).bounded(oddness.fit(texts, np.ones(300)).all(spell(drawn(300, 2))))


def test_of_texts_drawn_like_those_of_training_hardly_more_than_promised_are_odd() -> None:
    fresh = learned().all(spell(drawn(1500, 3)))

    assert np.mean(fresh > learned().most) <= MISS + 4 * np.sqrt(MISS / 300)


def test_nothing_is_odd_before_there_is_a_bound_nor_with_too_few_to_tell() -> None:
    fitted = oddness.fit(spell(drawn(50, 1)), np.ones(50))

    assert fitted.most == fitted.bounded(fitted.all(spell(drawn(50, 2)))).most == np.inf


def test_it_comes_back_from_tensors_as_it_was_and_each_text_alone_is_as_odd_as_among_others() -> None:
    made, texts = learned(), [*drawn(20, 4), "", "!", "x9#@ }{ qqzx"]
    again = oddness.load(made.tensors())

    together = made.all(spell(texts))

    assert np.allclose(again.all(spell(texts)), together)
    assert np.allclose([again.of(look(text)).much for text in texts], together)
    assert {again.of(look(text)).aspect for text in texts} <= set(ASPECTS)


@pytest.mark.parametrize("odd", ["xq zzkv wqpx vvkz jjqx kqwz", "0001 1829 2918 1821 8819 2019 3391", "the of " * 40])
def test_letters_figures_and_repetition_tell(odd: str) -> None:
    made = learned()

    assert made.of(look(odd)).much > made.most > made.of(look(drawn(1, 9)[0])).much


@given(st.text(alphabet=st.characters(max_codepoint=0x2FF), max_size=60))
def test_neither_case_nor_wide_gaps_change_a_look(text: str) -> None:
    one = " ".join(text.split()).lower()

    assert np.array_equal(look(one.replace(" ", "   ")).codes, look(one).codes)
    assert np.array_equal(look(one.upper().lower()).counts, look(one.upper().lower()).counts)
    if one.isascii():
        assert np.array_equal(look(one.upper()).codes, look(one).codes)


def share_told(texts: dict[str, tuple[str, ...]]) -> float:
    odd = artefact.load(artefact.SHIPPED).stages
    assert odd is not None
    asked = [without_appeals(text) for kind in texts.values() for text in kind]
    return float(np.mean([oddly_written(odd.odd, text) is not None for text in asked]))


def test_the_shipped_artefact_tells_junk_logs_code_and_other_languages_and_trusts_itself_with_questions() -> None:
    assert share_told(LOOKED_AT) >= 0.85
    assert share_told(UNSEEN) >= 0.8
    assert share_told({"plain": (*EASY, *HARD, *map(" ".join, TASKS))}) == 0.0


@pytest.mark.parametrize("kind", ["base64", "random letters", "logs"])
def test_junk_behind_a_question_does_not_make_it_odd(kind: str) -> None:
    odd = artefact.load(artefact.SHIPPED).stages
    assert odd is not None

    for junk in LOOKED_AT[kind]:
        assert oddly_written(odd.odd, f"What is the capital of France? {junk}") is None
        assert oddly_written(odd.odd, f"hi there {junk}") is None


def test_other_languages_are_told_by_their_small_words_and_english_that_quotes_them_is_not() -> None:
    assert share_told(OTHER) >= 0.95
    assert share_told({"english": ENGLISH}) == 0.0


def test_who_was_trained_on_other_languages_judges_them() -> None:
    """Which of them are unusual is told by the letters of training texts: fewer than one in seven has such."""
    texts = [text for kind in OTHER.values() for text in kind]
    theirs = oddness.fit(spell(texts), np.ones(len(texts)))

    refused = [[oddly_written(made, text) is not None for text in texts] for made in (theirs, learned())]

    assert np.mean(refused[0]) <= 1 / 7
    assert np.mean(refused[1]) >= 1 / 2
