"""The language of a conversation is told by its letters and small words: with an estimate and without, live as later."""

import msgspec
import pytest
from other_languages import ENGLISH, OTHER

from classifiers import artefact as artefacts
from classifiers.artefact import Artefact
from classifiers.estimator import Estimator
from classifiers.question import Question
from classifiers.unfamiliar.spoken import SCRIPTS, language_of, spoken_in
from policies.estimates import Estimate

GERMAN, ENGLISH_TURN = "Wie heißt die Hauptstadt von Peru und wo liegt sie?", "What is the capital of Peru?"


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        ("Какая столица Перу?", "Cyrillic"),
        ("秘鲁的首都是哪里？", "Chinese"),
        ("ペルーの首都はどこですか", "Japanese"),
        ("東京の人口", "Japanese"),
        ("페루의 수도는 어디입니까?", "Korean"),
        ("ما هي عاصمة بيرو؟", "Arabic"),
        ("पेरू की राजधानी क्या है?", "Devanagari"),
        ("Ποια είναι η πρωτεύουσα του Περού;", "Greek"),
        ("מהי בירת פרו?", "Hebrew"),
        ("เมืองหลวงของเปรูคืออะไร", "Thai"),
        (GERMAN, "German"),
        (ENGLISH_TURN, "English"),
        ("What is 2+2?", "English"),
        (f"{ENGLISH_TURN} Это очень сложный вопрос, требуется глубокий и подробный анализ всего.", "English"),
        (
            "Kto napisał do mnie i co to jest?",
            "",
        ),  # Polish, whose words are not known; "do" and "to" are English as well
        ("thanks!", ""),
        ("def f(x): return x if x in y else None", ""),
        ("2+2=?", ""),
        ("", ""),
        ("𝐛𝐨𝐥𝐝 𝐭𝐞𝐱𝐭", ""),
    ],
)
def test_a_turn_tells_its_language_or_its_script_or_nothing(turn: str, told: str):
    assert spoken_in(turn) == told


def test_languages_that_are_known_are_told_apart_and_none_is_taken_for_english():
    told = {(name, turn): spoken_in(turn) for name, turns in OTHER.items() for turn in turns}

    assert "English" not in told.values()
    assert sum(found.lower() != name for (name, _), found in told.items()) <= 1
    assert {spoken_in(turn) for turn in ENGLISH} <= {"English", "Spanish", ""}  # they quote others


def test_every_script_that_can_be_told_is_a_word_of_its_own():
    assert all(name.isalpha() and name.istitle() for name in SCRIPTS.values())


def test_the_newest_turn_that_tells_one_counts():
    assert language_of([GERMAN, ENGLISH_TURN, "ok"]) == "English"
    assert language_of([ENGLISH_TURN, GERMAN, "ok", "2+2"]) == "German"
    assert language_of([]) == language_of(["ok", "2+2"]) == ""


CONVERSATIONS = ((GERMAN,), (ENGLISH_TURN, GERMAN, "ok"), (GERMAN, ENGLISH_TURN), ("ok",), ("Какая столица Перу?",))


def untimed(estimate: Estimate) -> Estimate:
    return msgspec.structs.replace(estimate, took_us=0)


@pytest.mark.parametrize("turns", CONVERSATIONS)
@pytest.mark.parametrize("unclear", [(), (0,)])
def test_both_stages_tell_it_at_first_as_when_they_remember_and_in_another_process(
    turns: tuple[str, ...], unclear: tuple[int, ...], embedder
):
    shipped, question = artefacts.load(artefacts.SHIPPED), Question(turns)
    first, second = (Estimator(shipped, embedder()) for _ in range(2))
    found = [untimed(each.estimate_now(question, lambda span: unclear)) for each in (first, first, second)]

    assert found == [found[0]] * 3
    assert found[0].language == language_of(turns)


@pytest.mark.parametrize("turns", CONVERSATIONS)
async def test_it_is_told_without_stages_and_where_the_encoder_is_late(
    trained: Artefact, embedder, turns: tuple[str, ...]
):
    late = await Estimator(trained, embedder(holds=True)).estimate(Question(turns), within_s=0)
    in_time = await Estimator(trained, embedder()).estimate(Question(turns), within_s=5)

    assert late.abstains
    assert late.language == in_time.language == language_of(turns)
