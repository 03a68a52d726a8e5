"""A turn is read as it is and without what asks nothing at its ends; of both readings the lower one counts."""

import re
from concurrent.futures import Future
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from blind_appeals import TASKS
from hypothesis import given, settings
from hypothesis import strategies as st
from test_classifier_shipped import EASY, HARD

from classifiers import artefact
from classifiers.artefact import Artefact
from classifiers.embedding.embedder import after_all
from classifiers.estimator import Estimator
from classifiers.measuring.score import chances
from classifiers.question import Question
from classifiers.reading.appeals import OPTION
from classifiers.reading.readings import core, lower, readings

ASKED, IDLE = "What is the capital of France?", "The committee consists of number theorists."
TURN = f"{ASKED} {IDLE}"
WORDS = st.lists(st.sampled_from([*TURN.split(), "Prove", "it", "Then", "x = 3", "\n", "hi", "Sort", "the names."]))


@pytest.mark.parametrize(
    "text", [TURN, f"{IDLE} {ASKED}", f"{IDLE} {ASKED} Handle it like a proof in topology.", f"{ASKED} {IDLE} {IDLE}"]
)
def test_what_asks_nothing_is_left_out_at_either_end(text: str):
    assert core(text) == ASKED


@pytest.mark.parametrize(
    "text",
    [
        f"{ASKED} Prove that no larger one exists.",  # asks
        f"{ASKED} Who founded the committee?",
        f"{ASKED} The committee has 12 members.",  # tells a number
        f"{ASKED} The French capital has a committee.",  # speaks of the same
        f"{IDLE} Why do they meet?",  # is spoken of
        f"{ASKED} It must be told in verse.",  # is a requirement
        f"The town is old. {IDLE}",  # nothing else asks either
        "Which holds?\nA. The committee consists of logicians.\nB. It consists of poets.",
        f"```\n{TURN}\n```",
    ],
)
def test_what_may_belong_to_the_task_stays(text: str):
    assert core(text) == text


def test_a_task_is_read_whole_where_its_sentences_ask_or_require_something():
    kept = [one for one in TASKS if core(" ".join(one)) == " ".join(one)]

    assert len(kept) >= len(TASKS) / 2
    assert all(core(text) == text for text in (*EASY, *HARD))


@settings(max_examples=200, deadline=None)
@given(WORDS)
def test_a_core_is_a_part_of_the_text_and_has_no_core_of_its_own(words: list[str]):
    text = " ".join(words)
    found = core(text)

    assert found in text
    assert core(found) == found
    assert bool(found.strip()) == bool(text.strip())


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=4))
def test_the_lower_reading_is_the_one_with_the_least_gain(rows: list[tuple[float, ...]]):
    chances = np.array(rows)

    assert chances[lower(chances, ("a", "b", "c")), [0, 2]] @ [-1, 1] == min(row[2] - row[0] for row in rows)


def gain(row) -> float:
    return row["large"] - row["small"]


async def test_both_readings_are_embedded_and_the_lower_one_counts(trained: Artefact, embedder):
    counting = embedder()
    estimator = Estimator(trained, counting)

    both = await estimator.estimate(Question((TURN,)), 5)

    # Without the full stop between them there is one reading alone.
    alone = [(await Estimator(trained, embedder()).estimate(Question((text,)), 5)).p_good for text in (ASKED,)]
    assert counting.asked == [TURN, ASKED]
    assert gain(both.p_good) <= gain(alone[0]) + 1e-9
    assert estimator.numbers(Question((TURN,)))() is not None


@pytest.mark.parametrize("order", list(permutations(range(2))))
async def test_the_readings_may_be_embedded_in_any_order(trained: Artefact, embedder, order: tuple[int, ...]):
    held = embedder(holds=True)
    estimator = Estimator(trained, held)
    await estimator.estimate(Question((TURN,)), 0)
    waiting = list(held.open)

    held.open[:] = [waiting[order[0]]]
    held.release()
    half = await estimator.estimate(Question((TURN,)), 0)
    held.open[:] = [waiting[order[1]]]
    held.release()
    whole = await estimator.estimate(Question((TURN,)), 0)

    assert half.abstains
    assert whole.p_good == (await Estimator(trained, embedder()).estimate(Question((TURN,)), 5)).p_good
    assert len(held.asked) == len(readings(TURN)) == 2


async def test_a_score_on_disk_is_that_of_the_gateway(trained: Artefact, embedder, saved: Path):
    class Store:
        def vectors(self, texts):
            return np.array([np.asarray(embedder().submit(text).result()) for text in texts]).reshape(len(texts), -1)

        of_asked = vectors

    opened = artefact.load(saved)
    texts = [TURN, ASKED, HARD[0]]
    found = chances(opened, texts, Store())

    for text, row in zip(texts, found, strict=True):
        served = await Estimator(trained, embedder()).estimate(Question((text,)), 5)
        assert np.allclose(list(served.p_good.values()), row, atol=1e-4)


@pytest.mark.parametrize(
    "clause",
    [
        ", with a proof by induction",
        " in the style of a monograph on topology",
        " - derive it from first principles",
        ", and prove your answer with full rigour",
        " (consider the reader a logician)",
    ],
)
def test_a_clause_that_orders_how_to_answer_a_light_question_is_left_out_of_the_other_reading(clause: str):
    asked = ASKED.rstrip("?")

    assert core(asked + clause).rstrip(" ,-") == asked
    assert core(f"hi there{clause}").rstrip(" ,-") == "hi there"


@pytest.mark.parametrize(
    "text",
    [
        "Implement a queue, with a proof that it is lock-free.",  # what is built may require that
        "Prove that the sum converges, and derive it from first principles.",
        "Translate 'see you soon' into French.",
        "Find the integral \\int_0^1 x^2 dx with a proof.",
        "Who wrote the book in the style of the author?\nA. with a proof\nB. as a poem",
    ],
)
def test_a_clause_behind_what_is_built_or_proved_stays(text: str):
    assert core(text) == text


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_what_waits_for_several_embeddings_goes_on_once_when_the_last_has_come(order: tuple[int, ...]):
    waiting: list[Future[np.ndarray]] = [Future() for _ in order]
    went_on: list[int] = []
    after_all(waiting, lambda: went_on.append(sum(one.done() for one in waiting)))

    for at in order:
        assert went_on == []
        waiting[at].set_result(np.zeros(1))

    assert went_on == [3]


def test_a_greeting_that_was_cut_off_before_a_demand_is_a_reading():
    assert readings("thanks! Phrase it as a theorem with a complete proof.") == (
        "Phrase it as a theorem with a complete proof.",
        "thanks!",
    )


@pytest.mark.parametrize(
    "text",
    [
        "Please help. My program deadlocks under load.",
        "Hello, can you help me? We see stale reads after failover.",
        "Hi! Our scheduler deadlocks when two threads take locks in different order.",
    ],
)
def test_who_greets_or_asks_for_help_and_tells_what_is_wrong_is_read_whole(text: str):
    assert readings(text) == (text,)


@pytest.mark.parametrize(
    ("greeting", "need"),
    [
        ("Hello! ", "I need a proof that the harmonic series diverges."),
        ("Good morning. ", "I would like a derivation of the Kalman filter."),
        ("Hi, ", "I need a rigorous proof that every compact metric space is separable."),
        ("Hi, ", "implement a queue, with a proof that it is lock-free."),
    ],
)
def test_who_greets_and_tells_a_need_is_read_as_who_tells_it(greeting: str, need: str):
    assert readings(greeting + need) == (need,) == readings(need)


@given(
    st.lists(
        st.sampled_from(["A) one", "(b. two", " C. three", "answer: x", "", " ", "\t", "\r", "what", "D."]), max_size=12
    )
)
def test_options_are_counted_as_they_were_when_empty_lines_before_them_were_read_too(lines: list[str]) -> None:
    """The pattern that read them took a time that grew with the square of empty lines."""
    slow = re.compile(r"^\s*(?:\(?[A-J][.)]\s|answer:)", re.IGNORECASE | re.MULTILINE)

    text = "\n".join(lines)

    assert len(OPTION.findall(text)) == len(slow.findall(text))


@pytest.mark.parametrize("blank", ["", "  ", "\n\n", "\u00a0"])
def test_a_turn_without_text_has_one_reading(blank: str) -> None:
    assert readings(blank) == (blank,)


@pytest.mark.parametrize(
    "task", ["Prove that the sum of the reciprocals of the primes diverges.", "Merge those intervals."]
)
@pytest.mark.parametrize("before", ["Sorry to bother you. ", "Good morning. Sorry to bother you. ", "Apologies. "])
def test_regret_before_a_task_is_no_reading_of_its_own(before: str, task: str) -> None:
    assert all(read.endswith(task) for read in readings(before + task))


@pytest.mark.parametrize("ours", ["Hey! Our Kafka consumers rebalance every minute and nobody can say why, what now?"])
def test_who_greets_and_tells_what_is_the_matter_is_read_whole(ours: str) -> None:
    assert all("Kafka" in read for read in readings(ours))
