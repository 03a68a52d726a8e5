"""Outcomes of which the large model's are no better: what needs no gap is told all the same, and why the rest is not."""

import csv
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from classifiers import artefact
from classifiers.embedding.encoder import DEFAULT_NAME
from classifiers.embedding.store import EmbedStore, store_path
from classifiers.measuring import metrics
from classifiers.measuring.compare import compare
from classifiers.measuring.measure import Measured, measure
from classifiers.training.own import train_own
from classifiers.training.recalibrate import recalibrate

ROWS = 120


def write(path: Path, outcomes: list[tuple[int, int]]) -> Path:
    with path.open("w", newline="") as file:
        rows = [(at, f"question number {at}", *pair) for at, pair in enumerate(outcomes)]
        csv.writer(file).writerows([("prompt_id", "prompt", "small_correct", "large_correct"), *rows])
    return path


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, draw = tmp_path_factory.mktemp("cache"), np.random.default_rng(5)

    def encode(texts):
        rows = draw.standard_normal((len(texts), 384)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    EmbedStore(store_path(folder, DEFAULT_NAME), lambda: encode).vectors(
        [*(f"question number {at}" for at in range(ROWS)), artefact.PROBE_TEXT]
    )
    return folder


@pytest.fixture(scope="module")
def own(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    data = write(folder / "train.csv", [(at % 2, int(at % 5 > 0)) for at in range(ROWS)])
    train_own(data, folder / "artefact", cache_dir=cache, trained_on="2026-01-01")
    return folder / "artefact"


TIE = [(at % 2, (at // 2) % 2) for at in range(ROWS)]
TURNED = [(1, at % 2) for at in range(ROWS)]
SAME = [(1, 1)] * ROWS
FILES = {"tie": TIE, "turned": TURNED, "same": SAME, "one": [(1, 0)]}


@pytest.mark.parametrize("name", FILES)
def test_a_measure_without_a_gap_tells_all_that_needs_none(name: str, own: Path, cache: Path, tmp_path: Path):
    data = write(tmp_path / "data.csv", FILES[name])

    found = measure(own, data, cache_dir=cache, resamples=20)

    outcomes = np.array(FILES[name], dtype=float)
    for at, model in enumerate(("small", "large")):
        told = found.chances[model]
        assert told.observed == outcomes[:, at].mean()
        assert told.ece_95[0] <= told.ece <= told.ece_95[1]
        assert told.brier_95[0] <= told.brier <= told.brier_95[1]
    for router in ("turnout", "random", "length", "oracle"):
        known = found.routers[router]
        assert (known.apgr, known.cpt50, known.cpt80) == (None, None, None)
        assert known.auc is not None
        assert known.share_for["0.95"] == 0.0
    assert found.routers["random"].quality_at["0.4"] == pytest.approx(
        outcomes @ (0.6, 0.4) @ np.full(len(outcomes), 1 / len(outcomes))
    )
    assert found.quick is None or found.quick.apgr_loss is None
    assert json.loads(msgspec.json.encode(found))["routers"]["turnout"]["apgr"] is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tie", "large ties with small on average (0.500 and 0.500)"),
        ("turned", "large is worse than small on average (0.500 and 1.000)"),
    ],
)
def test_one_note_says_why(name: str, why: str, own: Path, cache: Path, tmp_path: Path):
    data = write(tmp_path / "data.csv", FILES[name])

    for found in (
        measure(own, data, cache_dir=cache, resamples=5),
        compare(own, own, data, cache_dir=cache, resamples=5),
    ):
        told = [note for note in found.report().notes if "no gap to recover" in note]
        assert len(told) == 1
        assert told[0].startswith(why)


def test_where_there_is_a_gap_nothing_is_said_of_one(own: Path, cache: Path):
    found = measure(own, own.parent / "train.csv", cache_dir=cache, resamples=5)

    assert found.routers["turnout"].apgr is not None
    assert not any("gap" in note for note in found.report().notes)


def test_two_artefacts_are_compared_by_what_needs_no_gap(own: Path, cache: Path, tmp_path: Path):
    recalibrate(own, write(tmp_path / "tie.csv", TIE), tmp_path / "moved", cache_dir=cache, trained_on="2026-01-02")

    found = compare(own, tmp_path / "moved", tmp_path / "tie.csv", cache_dir=cache, resamples=50)

    assert found.measures["apgr"].difference is None
    assert found.measures["apgr"].verdict() == "neither"
    assert found.measures["brier_small"].interval_95 is not None
    assert "–" in next(iter(found.pictures())).title or found.measures["brier_small"].difference is not None
    assert [picture.title for picture in found.pictures()][1] == "second minus first, APGR: – (95 %: –)"


@pytest.mark.parametrize("name", ["tie", "turned", "same"])
def test_models_that_tie_have_a_scale_too(name: str, own: Path, cache: Path, tmp_path: Path):
    data = write(tmp_path / "data.csv", FILES[name])

    recalibrate(own, data, tmp_path / "moved", cache_dir=cache, trained_on="2026-01-02")

    found: Measured = measure(tmp_path / "moved", data, cache_dir=cache, resamples=5)
    for told in found.chances.values():
        assert abs(told.predicted - told.observed) < 0.03


@pytest.mark.parametrize("name", ["tie", "turned", "same"])
def test_training_where_nothing_is_to_be_gained_says_so(name: str, cache: Path, tmp_path: Path):
    found = train_own(
        write(tmp_path / "data.csv", FILES[name]), tmp_path / "out", cache_dir=cache, trained_on="2026-01-01"
    )

    assert "apgr" not in found.metrics
    assert any("no gap between the models to recover" in note for note in found.notes)


def test_fractions_that_tie_but_for_their_sums_have_no_gap():
    small, large = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1])

    assert not metrics.has_gap(small, np.nextafter(large, 1))
    with pytest.raises(ValueError, match="not better on average"):
        metrics.apgr(np.zeros(3), small, np.nextafter(large, 1))


def test_as_good_as_length_is_a_tie_and_no_loss(cache: Path, tmp_path: Path):
    outcomes = [(0, 1)] * ROWS  # any order recovers alike

    found = train_own(
        write(tmp_path / "data.csv", outcomes), tmp_path / "out", cache_dir=cache, trained_on="2026-01-01"
    )

    (note,) = [note for note in found.notes if "prompt length alone" in note]
    assert "a tie" in note
    assert "loses" not in note
