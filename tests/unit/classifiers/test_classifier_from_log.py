"""A log teaches what it shows: worlds whose truth is known, answered by one model each, with some choices drawn."""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
import threadpoolctl  # type: ignore[import-untyped]

from classifiers import artefact
from classifiers.embedding.encoder import DEFAULT_NAME
from classifiers.embedding.static import open_static
from classifiers.embedding.store import EmbedStore, store_path
from classifiers.features.lexical import NAMES
from classifiers.features.packing import make_of, pack, unpack, unpack_static
from classifiers.heads.inputs import Inputs, Targets
from classifiers.outcomes.own import OutcomesRefused
from classifiers.stages import LEVEL, Beside
from classifiers.training.from_log import calibrate_from_log, train_from_log
from classifiers.training.learn import learn
from classifiers.training.lessons import Lesson, Lessons, arrayed
from classifiers.training.log_report import Judged, measured, report

WIDTH = 384
HEADS = ("small", "large")
MAKE = make_of(DEFAULT_NAME)


def world(size: int, seed: int) -> tuple[Inputs, np.ndarray]:
    """Questions along one direction: small is good at one end of it and bad at the other, large nearly always good."""
    dice = np.random.default_rng(seed)
    vectors = dice.standard_normal((size, WIDTH)).astype(np.float32)
    vectors[:, 0] *= 25
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lexical = dice.standard_normal((size, len(NAMES))).astype(np.float32)
    small = 1 / (1 + np.exp(-4 * vectors[:, 0]))
    return Inputs(vectors, lexical), np.stack([small, np.full(size, 0.95)], axis=1)


def log_of(size: int, *, explore: float, seed: int = 0, estimate: Sequence[float] = (0.5, 0.9)) -> Lessons:
    """The log's policy is wrong: it knows nothing but the first bit of a lexical feature, and goes by that."""
    inputs, truth = world(size, seed)
    dice = np.random.default_rng(seed + 1)
    greedy = (inputs.vectors[:, 0] > 0.3).astype(int) ^ 1  # to large but for the easiest
    even = explore / 2
    drawn = dice.random(size) < even
    chosen = np.where(drawn, 1 - greedy, greedy)
    chance = np.where(drawn, even, 1 - even)
    rows = [
        Lesson(
            numbers=pack(Inputs(inputs.vectors[at : at + 1], inputs.lexical[at : at + 1]), MAKE),
            quality={HEADS[chosen[at]]: float(dice.random() < truth[at, chosen[at]])},
            p_good=dict(zip(HEADS, estimate, strict=True)),
            weight=min(1 / chance[at], 50.0),
        )
        for at in range(size)
    ]
    counts = {head: {"feedback": sum(head in row.quality for row in rows)} for head in HEADS}
    return Lessons(name="log", heads=HEADS, rows=rows, counts=counts, numberless=3, most_weight=50.0)


def test_numbers_come_back_as_they_went_within_half_precision() -> None:
    inputs, _ = world(20, 3)
    one_by_one = [pack(Inputs(inputs.vectors[i : i + 1], inputs.lexical[i : i + 1]), MAKE) for i in range(20)]

    again = unpack(one_by_one)

    assert np.allclose(again.vectors, inputs.vectors, atol=1e-3)
    assert np.allclose(again.lexical, inputs.lexical, rtol=1e-3, atol=1e-3)


def test_what_nobody_answered_is_guessed_and_what_was_is_kept() -> None:
    lessons = log_of(400, explore=0.4)

    known = arrayed(lessons, HEADS, DEFAULT_NAME)

    assert known.observed.sum(axis=1).tolist() == [1] * 400
    told = sorted(value for row in lessons.rows for value in row.quality.values())
    assert sorted(known.quality[known.observed].tolist()) == told
    guesses = known.quality[~known.observed]
    assert ((guesses >= 0) & (guesses <= 1)).all()


def test_a_log_that_explores_teaches_who_gains() -> None:
    """Estimates of then were alike for all, so whatever order there is was learned from the log."""
    known = arrayed(log_of(300, explore=0.5), HEADS, DEFAULT_NAME)
    learned = learn(known.inputs, Targets(known.quality, known.weight))

    inputs, truth = world(300, 77)
    said = learned.blend.p_good(inputs)

    gain, real = said[:, 1] - said[:, 0], truth[:, 1] - truth[:, 0]
    assert np.corrcoef(gain, real)[0, 1] > 0.7
    assert abs(said[:, 0].mean() - truth[:, 0].mean()) < 0.06
    assert abs(said[:, 1].mean() - truth[:, 1].mean()) < 0.04


def test_weights_undo_the_choice() -> None:
    """Only easy questions went to small: without weights it would be taken for better than it is."""
    rows = [row for row in log_of(4_000, explore=0.3).rows if "small" in row.quality]
    truth = world(4_000, 0)[1][:, 0].mean()

    told, weights = [row.quality["small"] for row in rows], [row.weight for row in rows]
    plain, weighted = np.mean(told), np.average(told, weights=weights)

    assert abs(weighted - truth) < 0.04
    assert abs(plain - truth) > 0.1


def test_too_few_outcomes_are_refused_with_what_there_is_and_what_is_missing() -> None:
    lessons = log_of(100, explore=0.1)
    foreign = [Lesson(numbers=pack(world(1, 9)[0], "other/0"), quality={"small": 1.0}, p_good={}, weight=1.0)]
    few = Lessons(
        **{**{n: getattr(lessons, n) for n in lessons.__struct_fields__}, "rows": [*lessons.rows[:40], *foreign]}
    )

    with pytest.raises(
        OutcomesRefused, match=r"log has outcomes to learn from: \d+ of small, \d+ of large; 30 of each model"
    ) as told:
        arrayed(few, HEADS, DEFAULT_NAME)

    assert "3 more have no numbers: set TURNOUT_DECISIONS__NUMBERS=true" in str(told.value)
    assert "1 more have numbers of another encoder" in str(told.value)


def test_what_is_left_out_for_want_of_its_policy_is_told_however_much_is_there() -> None:
    lessons = msgspec.structs.replace(log_of(300, explore=0.5), without_policy=7)
    known = arrayed(lessons, HEADS, DEFAULT_NAME)

    told = report("trained", lessons, HEADS, Judged(known, known, known.before), "quick")

    assert any(note.startswith("7 decisions are left out, whose policy is not beside the log") for note in told.notes)


def test_calibrating_takes_no_more_threads_than_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Limits(threadpoolctl.threadpool_limits):  # type: ignore[misc, no-any-unimported]
        def __init__(self, limits: int) -> None:
            seen.append(limits)
            super().__init__(limits)

    monkeypatch.setattr(threadpoolctl, "threadpool_limits", Limits)

    calibrate_from_log(None, log_of(300, explore=0.5), tmp_path / "out", trained_on="2026-01-01", threads=3)

    assert seen[0] == 3


def test_calibrating_keeps_a_quick_stage_whose_interval_holds_as_often_as_promised_over_the_log(tmp_path: Path) -> None:
    lessons, opened = log_of(600, explore=0.5), artefact.load(artefact.SHIPPED)
    assert opened.stages is not None
    full = [opened.blend.p_good(unpack([row.numbers]))[0] for row in lessons.rows]
    dice = np.random.default_rng(5)
    half, seen = 0.02, []
    for row, chances in zip(lessons.rows, full, strict=True):
        likely = chances[1] - chances[0] + dice.normal() * 0.05
        ends = tuple({"small": 0.0, "large": float(likely + at)} for at in (-half, half))
        seen.append(msgspec.structs.replace(row, artefact=opened.calibration.artefact, ends=ends))

    calibrate_from_log(None, msgspec.structs.replace(lessons, rows=seen), tmp_path / "out", trained_on="2026-01-01")

    kept = artefact.load(tmp_path / "out").stages
    assert kept is not None
    factor = kept.quick.off / opened.stages.quick.off
    fresh = np.abs(dice.standard_normal(4000) * 0.05) <= half * factor[0]
    assert abs(fresh.mean() - LEVEL) < 0.06
    assert kept.least <= opened.stages.least


@pytest.mark.parametrize("made_by", ["", "another"])
def test_a_log_that_never_saw_this_quick_stage_leaves_it_out(tmp_path: Path, made_by: str) -> None:
    lessons = log_of(200, explore=0.5)
    ends = ({"small": 0.5, "large": 0.5}, {"small": 0.4, "large": 0.6})
    rows = [msgspec.structs.replace(row, artefact=made_by, ends=ends) for row in lessons.rows]

    calibrate_from_log(None, msgspec.structs.replace(lessons, rows=rows), tmp_path / "out", trained_on="2026-01-01")

    assert artefact.load(tmp_path / "out").stages is None


def test_calibrating_puts_the_shipped_artefact_on_the_scale_of_the_log(tmp_path: Path) -> None:
    lessons = log_of(900, explore=0.5)

    found = calibrate_from_log(None, lessons, tmp_path / "out", trained_on="2026-01-01")

    ece = {row[0]: row[-2:] for row in found.rows}
    assert ece["small"][1] < ece["small"][0]
    assert "at most 50" in found.notes[0]
    assert (tmp_path / "out" / "manifest.json").is_file()


def test_training_and_calibrating_tell_in_numbers_how_what_was_observed_came_out(tmp_path: Path) -> None:
    lessons = log_of(150, explore=0.5)
    one = np.full((1, WIDTH), WIDTH**-0.5, np.float32)
    EmbedStore(store_path(tmp_path, DEFAULT_NAME), lambda: lambda _: one).vectors([artefact.PROBE_TEXT])

    trained = train_from_log(lessons, tmp_path / "new", cache_dir=tmp_path, trained_on="2026-01-01")
    calibrated = calibrate_from_log(tmp_path / "new", lessons, tmp_path / "moved", trained_on="2026-01-01")

    for found, folder in ((trained, "new"), (calibrated, "moved")):
        told = json.loads((tmp_path / folder / "report.json").read_text(), parse_constant=pytest.fail)
        assert told["outcomes"] == lessons.counts
        assert [row[:2] for row in told["rows"]] == [[head, lessons.counts[head]["feedback"]] for head in HEADS]
        for head, *_, mean, _, after in found.rows:
            curve = found.curves.reliability[head]
            weight = sum(row.weight for row in lessons.rows if head in row.quality)
            assert sum(curve.prompts) == pytest.approx(weight, rel=0.05)
            assert np.average(curve.observed, weights=curve.prompts) == pytest.approx(mean, abs=0.02)
            assert after == pytest.approx(found.metrics[f"ece_{head}"], abs=1e-4)
    assert set(trained.curves.missing) == {"deferral", "frontier"}
    assert not trained.curves.before
    assert set(calibrated.curves.before) == set(HEADS)


def test_ece_is_of_rows_that_were_kept_back_and_of_a_model_that_answered_none_of_them_there_is_none() -> None:
    lessons = log_of(200, explore=0.5)
    known = arrayed(lessons, HEADS, DEFAULT_NAME)
    unseen = known.take(np.nonzero(known.observed[:, 0])[0][:40])

    found = report("trained", lessons, HEADS, Judged(known, unseen, unseen.quality), "")

    assert [row[-1] for row in found.rows] == [0.0, None]
    assert found.rows[0][-2] > 0.1
    assert measured(HEADS, unseen, unseen.quality) == {"ece_small": 0.0}
    assert "ECE is of 40 questions that were kept back" in found.notes


def seen_by_table(lessons: Lessons, noise: float, seed: int = 11) -> Lessons:
    """The same questions with static vectors that tell the direction that counts, `noise` beside it."""
    dice, width = np.random.default_rng(seed), open_static().width
    rows = []
    for row in lessons.rows:
        static = dice.standard_normal(width).astype(np.float32) * noise
        static[0] += unpack([row.numbers]).vectors[0, 0]
        numbers = pack(unpack([row.numbers]), row.numbers.made_by, static / np.linalg.norm(static))
        rows.append(msgspec.structs.replace(row, numbers=numbers))
    return msgspec.structs.replace(lessons, rows=rows)


def half_seen(lessons: Lessons) -> Lessons:
    rows = [
        msgspec.structs.replace(row, numbers=msgspec.structs.replace(row.numbers, static=b"", table=""))
        if at % 2
        else row
        for at, row in enumerate(lessons.rows)
    ]
    return msgspec.structs.replace(lessons, rows=rows)


def test_a_log_of_static_vectors_teaches_a_quick_stage_whose_interval_holds_as_often_as_promised() -> None:
    known = arrayed(seen_by_table(log_of(500, explore=0.5), 0.2), HEADS, DEFAULT_NAME)
    assert known.static is not None
    learned = learn(
        known.inputs, Targets(known.quality, known.weight), Beside(Inputs(known.static, known.inputs.lexical))
    )
    assert learned.stages is not None

    fresh = seen_by_table(log_of(500, explore=0.5, seed=70), 0.2, seed=71)
    kept = [row.numbers for row in fresh.rows]
    static = unpack_static(kept)
    assert static is not None
    inputs = unpack(kept)
    full = learned.blend.p_good(inputs)
    _, low, high = map(learned.blend.scale.apply, learned.stages.quick.ends(Inputs(static, inputs.lexical)))
    gain, least, most = (rows[:, 1] - rows[:, 0] for rows in (full, low, high))

    assert ((least - 1e-9 <= gain) & (gain <= most + 1e-9)).mean() >= LEVEL - 0.07
    assert (most - least).mean() < 0.9


def test_an_artefact_from_a_log_says_whether_it_has_a_quick_stage_and_why_not(tmp_path: Path) -> None:
    whole = seen_by_table(log_of(120, explore=0.5), 0.2)

    told = {
        name: calibrate_from_log(None, lessons, tmp_path / name, trained_on="2026-01-01").notes[-1]
        for name, lessons in {"whole": whole, "half": half_seen(whole)}.items()
    }

    assert "interval with a probability of at least 80%" in told["whole"]
    assert artefact.load(tmp_path / "whole").stages is not None
    assert "no quick stage: not all questions have a static vector" in told["half"]
    assert artefact.load(tmp_path / "half").stages is None


def test_static_vectors_of_another_table_are_no_static_vectors() -> None:
    lessons = seen_by_table(log_of(40, explore=0.5), 0.2)
    kept = [row.numbers for row in lessons.rows]

    assert unpack_static(kept) is not None
    assert unpack_static([*kept[1:], msgspec.structs.replace(kept[0], table="another")]) is None
    assert unpack_static([*kept[1:], msgspec.structs.replace(kept[0], static=b"")]) is None
