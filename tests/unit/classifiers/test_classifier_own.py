"""From a CSV of outcomes to an artefact, its scores, its measure, its comparison and its calibration."""

import csv
import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from classifiers import artefact
from classifiers.embedding.encoder import DEFAULT_NAME
from classifiers.embedding.store import EmbedStore, open_store, store_path
from classifiers.measuring import metrics
from classifiers.measuring.compare import compare
from classifiers.measuring.measure import measure
from classifiers.measuring.routed import constant, resampled, routed
from classifiers.measuring.score import score
from classifiers.outcomes.own import OutcomesRefused, read_outcomes
from classifiers.training.own import fit_outcomes, train_own
from classifiers.training.recalibrate import recalibrate

ROWS = 240


def prompts(start: int, count: int) -> list[str]:
    return [f"{'prove the theorem' if at % 2 else 'say hello'} number {at}" for at in range(start, start + count)]


def write(path: Path, texts: list[str], seed: int, *, shift: float = 0.0, models: tuple[str, ...] = ("small", "large")):
    """The first model fails on proofs, the last one seldom; `shift` makes all of them worse."""
    draw = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt_id", "prompt", *(f"{model}_correct" for model in models)])
        for at, text in enumerate(texts):
            fails = np.linspace(0.8 if "prove" in text else 0.1, 0.1, len(models)) + shift
            writer.writerow([f"{seed}-{at}", text, *(int(draw.random() > chance) for chance in fails)])
    return path


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of embeddings that already holds every prompt."""
    folder, draw = tmp_path_factory.mktemp("cache"), np.random.default_rng(5)

    def encode(texts):
        rows = draw.standard_normal((len(texts), 384)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    store = EmbedStore(store_path(folder, DEFAULT_NAME), lambda: encode)
    store.vectors([*prompts(0, 2 * ROWS), artefact.PROBE_TEXT])
    return folder


@pytest.fixture(scope="module")
def own(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    data = write(folder / "train.csv", prompts(0, ROWS), 1)
    train_own(data, folder / "artefact", cache_dir=cache, trained_on="2026-01-01")
    return folder / "artefact"


@pytest.fixture
def test_csv(tmp_path: Path) -> Path:
    return write(tmp_path / "test.csv", prompts(ROWS, ROWS), 2)


def test_the_artefact_says_what_it_learned_from(own: Path):
    manifest = artefact.load(own).manifest

    assert manifest.heads == ("small", "large")
    assert manifest.card["prompts"] == ROWS
    assert manifest.metrics["apgr"] > 0.6
    assert (own / "report.json").is_file()


def test_how_far_chances_can_be_believed_is_told_of_rows_that_neither_heads_nor_scale_had_seen(cache: Path, own: Path):
    outcomes, store = read_outcomes(own.parent / "train.csv"), open_store(cache, None, 1)

    learned, told = fit_outcomes(outcomes, list(range(ROWS)), store)

    quality = outcomes.quality[learned.kept]
    assert told["ece_small"] == round(metrics.ece(learned.p_unseen[:, 0], quality[:, 0]), 4)
    assert told["ece_small"] != round(metrics.ece(learned.p_good[:, 0], quality[:, 0]), 4)
    order = metrics.ranks_within(learned.p_good[:, 1] - learned.p_good[:, 0], learned.round_of)
    assert told["apgr"] == round(metrics.apgr(order, *quality.T), 4)


def test_the_order_of_the_file_is_without_meaning(own: Path, cache: Path, tmp_path: Path):
    header, *rows = (own.parent / "train.csv").read_text().splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([header, *reversed(rows)]))

    train_own(tmp_path / "turned.csv", tmp_path / "again", cache_dir=cache, trained_on="2026-01-01")

    assert (tmp_path / "again" / artefact.TENSORS).read_bytes() == (own / artefact.TENSORS).read_bytes()


def test_scores_are_the_gain_in_the_order_of_the_file(own: Path, cache: Path, test_csv: Path, tmp_path: Path):
    written = score(own, test_csv, tmp_path / "scores.csv", cache_dir=cache)

    rows = list(csv.DictReader((tmp_path / "scores.csv").open()))
    assert written == ROWS == len(rows)
    assert [row["prompt_id"] for row in rows] == [f"2-{at}" for at in range(ROWS)]
    for row in rows:
        assert float(row["score"]) == pytest.approx(float(row["p_good_large"]) - float(row["p_good_small"]), abs=1e-8)
    assert (
        np.mean([float(row["score"]) for row in rows[1::2]]) > np.mean([float(row["score"]) for row in rows[::2]]) + 0.3
    )


def test_a_measure_holds_every_router_and_the_best_is_the_oracle(own: Path, cache: Path, test_csv: Path):
    measured = measure(own, test_csv, cache_dir=cache, resamples=20)

    routers = measured.routers
    assert set(routers) == {"turnout", "random", "length", "always small", "always large", "oracle"}
    assert routers["oracle"].apgr > routers["turnout"].apgr > routers["random"].apgr + 0.1
    assert routers["turnout"].apgr_95[0] < routers["turnout"].apgr < routers["turnout"].apgr_95[1]
    assert routers["always large"].share_for["0.95"] == 1.0
    assert measured.coverage == 1.0
    assert measured.chances["small"].ece < 0.15
    assert len(measured.report().rows) == 6
    assert set(measured.curves.deferral) == {"turnout", "random", "length", "oracle"}
    assert sum(measured.curves.reliability["small"].prompts) == ROWS


def test_every_number_of_every_router_has_an_interval_around_it(own: Path, cache: Path, test_csv: Path):
    measured = measure(own, test_csv, cache_dir=cache, resamples=60)

    for name, router in json.loads(msgspec.json.encode(measured.routers)).items():
        for measure_of in ("apgr", "cpt50", "cpt80", "auc"):
            value, span = router[measure_of], router[f"{measure_of}_95"]
            assert span is None if name.startswith("always") else span[0] <= value <= span[1], (name, measure_of)
        for measure_of in ("quality_at", "share_for"):
            spans = router[f"{measure_of}_95"]
            for at, value in router[measure_of].items():
                low, high = spans[at]
                assert value is None or (low <= value and (high is None or value <= high)), (name, measure_of, at)


def test_a_part_of_the_quality_that_is_reached_in_some_draws_alone_has_an_open_bound():
    order, large = np.arange(40.0), (np.arange(40) % 2).astype(float)
    small = np.where(np.arange(40) < 38, large, 0.0)

    router = constant(0.0, small, large, resampled(40, 200))

    assert router.share_for["0.95"] == 0.0
    assert router.share_for_95["0.95"] == (0.0, None)
    assert routed(order, small, large, resampled(40, 200)).auc_95 is not None


def test_an_artefact_is_no_better_than_itself(own: Path, cache: Path, test_csv: Path):
    compared = compare(own, own, test_csv, cache_dir=cache, resamples=20)

    assert {found.difference for found in compared.measures.values()} == {0.0}
    assert {found.verdict() for found in compared.measures.values()} == {"neither"}


def test_a_better_artefact_is_found_better(own: Path, cache: Path, test_csv: Path, tmp_path: Path):
    rows = list(csv.reader((own.parent / "train.csv").open()))
    turned = [rows[0], *([name, text, large, small] for name, text, small, large in rows[1:])]
    (tmp_path / "wrong.csv").write_text("\n".join(",".join(row) for row in turned))
    train_own(tmp_path / "wrong.csv", tmp_path / "wrong", cache_dir=cache, trained_on="2026-01-01")

    compared = compare(tmp_path / "wrong", own, test_csv, cache_dir=cache, resamples=50)

    assert compared.measures["apgr"].verdict() == "second"
    assert compared.measures["brier_small"].verdict() == "second"


def test_calibrating_moves_the_chances_to_what_is_seen_and_keeps_the_order(own: Path, cache: Path, tmp_path: Path):
    local = write(tmp_path / "local.csv", prompts(ROWS, ROWS), 3, shift=0.1)

    recalibrate(own, local, tmp_path / "moved", cache_dir=cache, trained_on="2026-01-02")

    before, after = (measure(folder, local, cache_dir=cache, resamples=5) for folder in (own, tmp_path / "moved"))
    assert abs(after.chances["small"].predicted - after.chances["small"].observed) < 0.01
    assert abs(before.chances["small"].predicted - before.chances["small"].observed) > 0.05
    assert after.routers["turnout"].apgr == pytest.approx(before.routers["turnout"].apgr, abs=0.02)
    assert "calibrated_on" in artefact.load(tmp_path / "moved").manifest.card


def test_a_file_whose_name_is_no_text_teaches_like_any_other(cache: Path, tmp_path: Path):
    data = write(tmp_path / "\udcff.csv", prompts(0, 60), 1)  # one byte, 0xff, in a file system of bytes

    train_own(data, tmp_path / "out", cache_dir=cache, trained_on="2026-01-01")

    assert artefact.load(tmp_path / "out").manifest.name == "?"


def test_three_models_have_three_heads(cache: Path, tmp_path: Path):
    data = write(tmp_path / "three.csv", prompts(0, ROWS), 4, models=("small", "middle", "large"))

    train_own(data, tmp_path / "three", cache_dir=cache, trained_on="2026-01-01")
    measured = measure(tmp_path / "three", data, cache_dir=cache, resamples=5)

    assert artefact.load(tmp_path / "three").manifest.heads == ("small", "middle", "large")
    assert set(measured.chances) == {"small", "middle", "large"}


def test_no_outcomes_give_the_shipped_artefact(cache: Path, tmp_path: Path):
    data = write(tmp_path / "none.csv", [], 0)

    train_own(data, tmp_path / "prior", cache_dir=cache, trained_on="2026-01-01")

    assert artefact.load(tmp_path / "prior").manifest.digest == artefact.load(artefact.SHIPPED).manifest.digest


def test_what_is_said_of_the_shipped_artefact_is_of_this_one():
    told, manifest = (
        json.loads((artefact.SHIPPED / "report.json").read_text()),
        artefact.load(artefact.SHIPPED).manifest,
    )

    assert told["artefact"] == manifest.digest[:12]
    assert told["metrics"] == manifest.metrics
    assert told["rows"][0][-2:] == pytest.approx([manifest.metrics["apgr"], manifest.metrics["ece_small"]], abs=1e-4)


def test_too_few_outcomes_are_refused_with_a_number(cache: Path, tmp_path: Path):
    data = write(tmp_path / "few.csv", prompts(0, 12), 0)

    with pytest.raises(OutcomesRefused, match="holds 12 prompts; at least 30 are needed"):
        train_own(data, tmp_path / "out", cache_dir=cache, trained_on="2026-01-01")


def test_outcomes_of_other_models_are_refused(own: Path, cache: Path, tmp_path: Path):
    other = write(tmp_path / "other.csv", prompts(0, 40), 0, models=("tiny", "huge"))

    with pytest.raises(OutcomesRefused, match="lacks the column 'small_correct'"):
        measure(own, other, cache_dir=cache)


def test_a_report_is_json(own: Path):
    assert json.loads((own / "report.json").read_text())["columns"] == ["model", "prompts", "mean quality", "ECE"]


def test_a_place_that_cannot_be_written_is_told_before_anything_is_embedded(tmp_path: Path):
    data = write(tmp_path / "train.csv", prompts(0, ROWS), 1)

    with pytest.raises(FileExistsError):
        train_own(data, data, cache_dir=tmp_path / "empty", trained_on="2026-01-01", embedder="/no/such/folder")
