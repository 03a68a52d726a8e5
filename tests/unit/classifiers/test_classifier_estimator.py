"""An estimate in time, or a reason; never an exception, never a wait beyond the budget."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from classifiers.artefact import Artefact
from classifiers.embedding.embedder import EmbedderFailed
from classifiers.embedding.static import open_static
from classifiers.estimator import Estimator
from classifiers.features.packing import unpack_static
from classifiers.question import Question
from classifiers.turns import MAX_TURNS
from policies.affinity.imprint import imprint

EASY, HARD = "say hello to everyone", "prove the theorem by induction"


@pytest.fixture
def quick(trained: Artefact, embedder):
    return Estimator(trained, embedder())


async def test_a_hard_turn_is_less_likely_answered_well_by_the_small_model(quick: Estimator):
    easy = await quick.estimate(Question((EASY,)), within_s=5)
    hard = await quick.estimate(Question((HARD,)), within_s=5)

    assert not easy.abstains
    assert hard.p_good["small"] < easy.p_good["small"] - 0.1


async def test_a_late_embedding_means_no_estimate_and_is_kept_for_the_next_request(trained: Artefact, embedder):
    slow = embedder(holds=True)
    estimator = Estimator(trained, slow)

    first = await estimator.estimate(Question((EASY,)), within_s=0)
    slow.release()
    second = await estimator.estimate(Question((EASY,)), within_s=0)

    assert first.abstains == "1 of 1 embeddings not ready within 0 ms"
    assert not first.p_good
    assert not second.abstains
    assert slow.asked == [EASY]


async def test_a_text_that_is_underway_is_not_asked_for_twice(trained: Artefact, embedder):
    slow = embedder(holds=True)
    estimator = Estimator(trained, slow)

    for _ in range(3):
        await estimator.estimate(Question((EASY, HARD)), within_s=0)

    assert slow.asked == [EASY, HARD]


async def test_a_broken_embedder_is_named_and_asked_again_next_time(trained: Artefact, embedder):
    broken = embedder(holds=True)
    estimator = Estimator(trained, broken)
    await estimator.estimate(Question((EASY,)), within_s=0)
    broken.fail(EmbedderFailed("the embedder stopped"))

    broken.holds = False
    after = await estimator.estimate(Question((EASY,)), within_s=5)

    assert broken.asked == [EASY, EASY]
    assert after.p_good


async def test_a_failure_within_the_budget_becomes_the_reason(trained: Artefact, refusing):
    estimate = await Estimator(trained, refusing).estimate(Question((EASY,)), within_s=5)

    assert estimate.abstains == "EmbedderFailed: 64 texts wait for the embedder"


@pytest.mark.parametrize("turns", [(), ("",), ("  \n",), (EASY, "")])
async def test_without_text_there_is_a_reason_and_no_crash(quick: Estimator, turns: tuple[str, ...]):
    estimate = await quick.estimate(Question(turns), within_s=5)

    assert estimate.abstains == "the newest turn has no text"


async def test_another_script_is_not_guessed_at(quick: Estimator):
    estimate = await quick.estimate(Question(("Докажите, что простых чисел бесконечно много",)), within_s=5)

    assert estimate.abstains == "100% of a turn's letters are not Latin; the encoder reads English"


async def test_an_image_turn_before_the_newest_is_passed_over(quick: Estimator):
    with_image = await quick.estimate(Question((HARD, "", EASY)), within_s=5)
    without = await quick.estimate(Question((HARD, EASY)), within_s=5)

    assert with_image.p_good == without.p_good
    assert with_image.earlier == without.earlier


async def test_each_shorter_prefix_has_the_estimate_it_had_when_it_was_newest(quick: Estimator):
    turns = (HARD, EASY, "thanks")
    then = [(await quick.estimate(Question(turns[:count]), within_s=5)).p_good for count in (1, 2)]

    whole = await quick.estimate(Question(turns), within_s=5)

    assert list(whole.earlier) == then


async def test_a_long_conversation_costs_one_new_embedding(trained: Artefact, embedder):
    counting = embedder()
    estimator = Estimator(trained, counting)
    turns = tuple(f"turn {at}" for at in range(10))
    await estimator.estimate(Question(turns), within_s=5)
    counting.asked.clear()

    await estimator.estimate(Question((*turns, "and this")), within_s=5)

    assert counting.asked == ["and this"]


async def test_no_more_than_the_newest_turns_are_looked_at(trained: Artefact, embedder):
    counting = embedder()
    turns = tuple(f"turn {at}" for at in range(40))

    estimate = await Estimator(trained, counting).estimate(Question(turns), within_s=5)

    assert counting.asked == list(turns[-MAX_TURNS:])
    assert len(estimate.earlier) == MAX_TURNS - 1


async def test_the_same_question_gives_the_same_estimate_with_and_without_a_loop(quick: Estimator):
    waited = await quick.estimate(Question((HARD, EASY)), within_s=5)
    at_once = quick.estimate_now(Question((HARD, EASY)))

    assert (waited.p_good, waited.earlier, waited.artefact) == (at_once.p_good, at_once.earlier, at_once.artefact)


async def test_time_is_read_from_the_clock_that_was_given(trained: Artefact, embedder):
    ticks = iter([10.0, 10.25])
    clock: Callable[[], float] = lambda: next(ticks)  # noqa: E731

    estimate = await Estimator(trained, embedder(), clock).estimate(Question((EASY,)), within_s=5)

    assert estimate.took_us == 250_000


async def test_closing_closes_the_embedder(trained: Artefact, embedder):
    closing = embedder()

    await Estimator(trained, closing).aclose()

    assert closing.closed


async def test_numbers_for_a_log_hold_the_static_vector_too(trained: Artefact, embedder):
    estimator = Estimator(trained, embedder())
    await estimator.estimate(Question((EASY,)), 5)

    told = estimator.numbers(Question((EASY,)))()

    assert told is not None
    static = unpack_static([told])
    assert static is not None
    assert np.allclose(static[0], open_static().vector(EASY), atol=1e-3)


async def test_a_turn_is_known_again_by_its_name_whether_its_caller_reckoned_it_or_not(trained: Artefact, embedder):
    counting = embedder()
    estimator = Estimator(trained, counting)
    names = tuple(imprint(turn) for turn in (EASY, HARD))

    named = await estimator.estimate(Question((EASY, HARD), (names[0], b"")), within_s=5)
    bare = await estimator.estimate(Question((EASY, HARD)), within_s=5)
    swapped = await estimator.estimate(Question((HARD, EASY), names[::-1]), within_s=5)

    assert (named.p_good, named.earlier) == (bare.p_good, bare.earlier)
    assert swapped.p_good != named.p_good
    assert counting.asked == [EASY, HARD]


async def test_a_name_stays_with_its_turn_where_others_have_no_text_or_are_too_long_ago(trained: Artefact, embedder):
    turns = (HARD, " ", *(f"{EASY} {at}" for at in range(MAX_TURNS)))
    named = Question(turns, tuple(imprint(turn) if at % 2 else b"" for at, turn in enumerate(turns)))
    estimator = Estimator(trained, embedder())

    found, bare = [await estimator.estimate(asked, within_s=5) for asked in (named, Question(turns))]

    assert (found.p_good, found.earlier) == (bare.p_good, bare.earlier)
    assert found == msgspec.structs.replace(
        await Estimator(trained, embedder()).estimate(Question(turns[2:]), within_s=5), took_us=found.took_us
    )
