"""What a log's shadows teach the heads: answers of two models to one question, by a judge or by whether they agree."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from test_classifier_from_log import HEADS, MAKE, world

from classifiers import artefact
from classifiers.embedding.encoder import DEFAULT_NAME
from classifiers.features.packing import pack
from classifiers.heads.inputs import Inputs, Targets
from classifiers.outcomes.own import OutcomesRefused
from classifiers.training.from_log import calibrate_from_log
from classifiers.training.learn import learn
from classifiers.training.lessons import Lesson, Lessons, arrayed
from policies.shadows.agreed import COINCIDE, right_if_other, right_if_same

MEANS = (0.5, 0.95)
"""How often the models of `world` are right, which is all that this log estimated."""

Pair = tuple[float, float]
Says = Callable[[np.ndarray, np.random.Generator], Pair]


def by_agreement(right: np.ndarray, dice: np.random.Generator) -> Pair:
    """Nobody says who is right."""
    if right.all() or (not right.any() and dice.random() < COINCIDE):
        return (right_if_same(*MEANS),) * 2
    return right_if_other(*MEANS), right_if_other(*reversed(MEANS))


def by_judge(right: np.ndarray, dice: np.random.Generator) -> Pair:
    return (sum(MEANS) / 2,) * 2 if right[0] == right[1] else (float(right[0]), float(right[1]))


def pairs(size: int, says: Says, seed: int = 0) -> Lessons:
    """Every question has an answer of both models."""
    inputs, truth = world(size, seed)
    dice = np.random.default_rng(seed + 1)
    rows = [
        Lesson(
            numbers=pack(Inputs(inputs.vectors[at : at + 1], inputs.lexical[at : at + 1]), MAKE),
            quality=dict(zip(HEADS, says(dice.random(2) < truth[at], dice), strict=True)),
            p_good=dict(zip(HEADS, MEANS, strict=True)),
            weight=10.0,
        )
        for at in range(size)
    ]
    return of(rows)


def of(rows: Sequence[Lesson]) -> Lessons:
    counts = {head: {"shadow": sum(head in row.quality for row in rows)} for head in HEADS}
    return Lessons(name="log", heads=HEADS, rows=rows, counts=counts, numberless=0, most_weight=50.0, unheard=7)


@pytest.mark.parametrize("says", [by_agreement, by_judge])
def test_pairs_alone_teach_who_gains_and_what_models_are_worth_stays_as_it_was(says: Says) -> None:
    known = arrayed(pairs(200, says), HEADS, DEFAULT_NAME)
    learned = learn(known.inputs, Targets(known.quality, known.weight))

    inputs, truth = world(300, 77)
    chances = learned.blend.p_good(inputs)

    assert known.observed.all()
    assert np.corrcoef(chances[:, 1] - chances[:, 0], truth[:, 1] - truth[:, 0])[0, 1] > 0.7
    assert abs((chances[:, 1] - chances[:, 0]).mean() - (truth[:, 1] - truth[:, 0]).mean()) < 0.06


def test_were_agreement_alone_heard_every_model_would_seem_as_good_as_any() -> None:
    """Why a difference counts wherever agreement does."""
    both = pairs(600, by_agreement)
    agreeing = of([row for row in both.rows if row.quality["small"] == row.quality["large"]])

    means = [
        float(np.mean([row.quality[head] for row in lessons.rows])) for lessons in (both, agreeing) for head in HEADS
    ]

    assert means[:2] == [pytest.approx(mean, abs=0.04) for mean in MEANS]
    assert means[2] == means[3] > MEANS[0] + 0.3


def test_where_nobody_can_say_what_a_different_answer_is_worth_the_estimate_stands_against_those_that_were_the_same() -> (
    None
):
    """Large was rated good; in one case of ten small said the very same."""
    inputs, _ = world(400, 5)
    rows = [
        Lesson(
            numbers=pack(Inputs(inputs.vectors[at : at + 1], inputs.lexical[at : at + 1]), MAKE),
            quality={"large": 1.0, "small": 1.0} if at % 10 == 0 else {"large": 1.0},
            p_good={"small": 0.4, "large": 0.9},
            weight=1.0,
            weights={"small": 10.0},
            stands=frozenset({"small"} if 0 < at % 10 < 8 else ()),
        )
        for at in range(400)
    ]
    never = [msgspec.structs.replace(row, stands=frozenset()) for row in rows]

    guessed = [
        known.quality[~known.observed] for known in (arrayed(of(told), HEADS, DEFAULT_NAME) for told in (rows, never))
    ]

    assert abs(guessed[0].mean() - (0.4 + 0.6 / 8)) < 0.05
    assert guessed[1].mean() > 0.9


def test_a_log_of_shadows_alone_calibrates_and_its_table_names_them_and_weighs_each_answer(tmp_path: Path) -> None:
    lessons = pairs(120, by_judge)
    rows = [
        msgspec.structs.replace(row, weights={"small": 1.0 + 9.0 * (row.quality["small"] > 0.5)})
        for row in lessons.rows
    ]
    small = np.array([row.quality["small"] for row in rows])

    told = calibrate_from_log(None, of(rows), tmp_path / "out", trained_on="2026-01-01")

    assert [row[:3] for row in told.rows] == [(head, 120, "shadow 120") for head in HEADS]
    assert told.rows[0][3] == pytest.approx(np.average(small, weights=1.0 + 9.0 * (small > 0.5)))
    assert any("7 comparisons by shadows taught nothing" in note for note in told.notes)
    assert "shadow" in str(artefact.load(tmp_path / "out").manifest.card["calibrated_on"])


def test_a_log_whose_shadows_taught_nothing_is_refused_with_what_they_lack() -> None:
    with pytest.raises(OutcomesRefused, match=r"0 of small, 0 of large; .* 7 comparisons by shadows taught .* a judge"):
        arrayed(of([]), HEADS, DEFAULT_NAME)
