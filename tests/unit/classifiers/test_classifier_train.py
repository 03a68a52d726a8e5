"""Training and evaluating end to end, on invented tables and embeddings that need no encoder."""

import fcntl
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from classifiers import artefact
from classifiers.embedding.encoder import DEFAULT_NAME
from classifiers.embedding.store import EmbedStore, of_width, store_path
from classifiers.measuring.baselines import BASELINES
from classifiers.measuring.evaluate import COLUMNS, evaluate
from classifiers.outcomes import pool
from classifiers.outcomes.data import DataMissing, mtbench
from classifiers.training.shipped import train
from gateway.cli import app

ROWS = 60


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five small tables in the published layout; the large model is better, most of all on what starts with "prove"."""
    folder, draw = tmp_path_factory.mktemp("tables"), np.random.default_rng(11)

    def write(name: str, **columns: list[object]) -> None:
        pq.write_table(pa.table(columns), folder / name)

    def prompts(source: str) -> list[object]:
        return [f"{'prove' if at % 2 else 'say'} {source} {at}" for at in range(ROWS)]

    def outcomes(share: float) -> list[object]:
        return [int(value) for value in draw.random(ROWS) < share]

    ids: list[object] = [f"id-{at}" for at in range(ROWS)]
    clean: list[object] = [at == 0 for at in range(ROWS)]
    for name, extra in (("routellm_mmlu", {"domain": ["law"] * ROWS}), ("routellm_gsm8k", {})):
        pair = {"small_correct": outcomes(0.4), "large_correct": outcomes(0.9), "routellm_contaminated": clean}
        write(f"{name}.parquet", prompt_id=ids, prompt=prompts(name), **pair, **extra)
    scores = {
        f"{size}_score_t{turn}": outcomes(0.3 if size == "small" else 0.9)
        for size in ("small", "large")
        for turn in (1, 2)
    }
    write(
        "routellm_mtbench.parquet", question_id=list(range(ROWS)), turn1=prompts("bench"), category=["x"] * ROWS,
        routellm_contaminated=clean, **scores,
    )  # fmt: skip
    models = [(f"ok:{name}", 0.3) for name in pool.PRO_SMALL] + [(f"ok:{name}", 0.8) for name in pool.PRO_LARGE]
    write(
        "mmlu_pro_28models.parquet", prompt_id=ids, prompt=prompts("pro"), category=["y"] * ROWS,
        src=["ori_mmlu-law" if at < 5 else "theorem" for at in range(ROWS)],
        **{name: outcomes(share) for name, share in models},
    )  # fmt: skip
    models = [(f"score:{name}", 0.5) for name in pool.MIX_SMALL] + [(f"score:{name}", 0.9) for name in pool.MIX_LARGE]
    write(
        "llmrouter_mix_9models.parquet", prompt_id=ids, prompt=prompts("mix"),
        task=["gpqa" if at < 7 else "math" for at in range(ROWS)],
        **{name: outcomes(share) for name, share in models},
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def cache(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of embeddings that already holds every prompt."""
    folder, draw = tmp_path_factory.mktemp("cache"), np.random.default_rng(5)

    def encode(texts):
        rows = draw.standard_normal((len(texts), 384)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    store = EmbedStore(store_path(folder, DEFAULT_NAME), lambda: encode)
    store.vectors([*pool.read_pool(tables).examples.texts, *mtbench(tables).texts, artefact.PROBE_TEXT])
    return folder


@pytest.fixture(scope="module")
def trained_folder(tables: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    train(tables, folder, cache_dir=cache, trained_on="2026-01-01")
    return folder


def test_training_writes_an_artefact_that_says_what_it_saw(trained_folder: Path):
    opened = artefact.load(trained_folder)

    assert opened.manifest.trained_on == "2026-01-01"
    assert opened.manifest.card["prompts"] == {
        "anchors": 183,
        "gsm8k": ROWS - 1,
        "mix": ROWS - 7,
        "mmlu": ROWS - 1,
        "mmlu-pro": ROWS - 5,
    }
    assert 0 < len(opened.calibration) <= opened.manifest.card["held_out"]
    assert (trained_folder / "report.json").is_file()


def test_training_twice_writes_the_same_bytes(trained_folder: Path, tables: Path, cache: Path, tmp_path: Path):
    train(tables, tmp_path, cache_dir=cache, trained_on="2026-01-01")

    assert (tmp_path / artefact.TENSORS).read_bytes() == (trained_folder / artefact.TENSORS).read_bytes()


def test_every_evaluation_holds_every_baseline(trained_folder: Path, tables: Path, cache: Path):
    report = evaluate(trained_folder, tables, cache_dir=cache, splits=(), transfers=("mmlu → gsm8k",), resamples=20)

    routers = {(row[0], row[1]) for row in report.rows}
    assert report.columns == COLUMNS
    assert {("mmlu → gsm8k", name) for name in ("turnout", *BASELINES)} <= routers
    assert {("mt-bench", name) for name in ("turnout, as shipped", *BASELINES)} <= routers
    assert report.markdown().count("\n") == len(report.rows) + 1
    assert set(report.curves) == {"mmlu → gsm8k", "mt-bench"}
    for name, router, prompts, at_40, apgr, *_ in report.rows:
        if apgr is None:
            continue
        line = report.curves[name].deferral[router.removesuffix(", as shipped")]
        assert np.interp(0.4, line.share, line.quality) == pytest.approx(at_40, abs=0.03)
        chances = report.curves[name].reliability
        assert (
            sum(chances["small"].prompts) == prompts
            if chances
            else "grades" in report.curves[name].missing["reliability"]
        )


def test_every_set_of_published_prompts_is_drawn_into_a_folder_of_its_own(
    trained_folder: Path, tables: Path, cache: Path, tmp_path: Path
):
    pytest.importorskip("matplotlib")
    words = (
        "evaluate",
        "--artefact",
        str(trained_folder),
        "--data",
        str(tables),
        "--split",
        "gsm8k-cv5",
        "--resamples",
        "5",
    )

    result = CliRunner().invoke(
        app, [*words, "--json", "--plots", str(tmp_path)], env={"TURNOUT_CACHE_DIR": str(cache)}
    )

    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout, parse_constant=pytest.fail)
    assert {type(row[2]) for row in told["rows"]} == {int}
    three = {"reliability.png", "deferral.png", "frontier.png"}
    drawn = {folder.name: {path.name for path in folder.iterdir()} for folder in tmp_path.iterdir()}
    assert drawn.pop("mt-bench") == three - {"reliability.png"}
    assert drawn == dict.fromkeys(("gsm8k-cv5", "mmlu-to-gsm8k", "mix-to-gsm8k", "gsm8k-to-mmlu", "mix-to-mmlu"), three)
    assert "no reliability.png: mt-bench has grades" in result.stderr


def test_the_shipped_recipe_shows_curves_of_what_it_held_out(trained_folder: Path):
    told = json.loads((trained_folder / "report.json").read_text(), parse_constant=pytest.fail)

    (_, _, held, small, predicted, large, *_), *_ = told["rows"]
    curve, line = told["curves"]["reliability"]["small"], told["curves"]["deferral"]["turnout"]
    assert sum(curve["prompts"]) == held
    assert np.average(curve["predicted"], weights=curve["prompts"]) == pytest.approx(predicted)
    assert (line["quality"][0], line["quality"][-1]) == pytest.approx((small, large))


def test_without_tables_it_says_which_are_expected(tmp_path: Path):
    with pytest.raises(DataMissing, match=r"routellm_mmlu\.parquet"):
        train(tmp_path, tmp_path / "out", cache_dir=tmp_path, trained_on="2026-01-01")
    with pytest.raises(DataMissing, match=r"lacks routellm_mmlu\.parquet, routellm_gsm8k\.parquet"):
        evaluate(None, tmp_path, cache_dir=tmp_path)


def test_embeddings_survive_a_row_that_was_cut_short(tmp_path: Path):
    path, calls = tmp_path / "some.rows", []

    def encode(texts):
        calls.append(list(texts))
        return np.full((len(texts), 384), len(calls), dtype=np.float32)

    EmbedStore(path, lambda: encode).vectors(["one", "two"])
    [kept] = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:-10])

    again = EmbedStore(path, lambda: encode).vectors(["one", "two"])
    once_more = EmbedStore(path, lambda: encode).vectors(["two", "one"])

    assert sorted(calls[0]) == ["one", "two"]
    assert [len(call) for call in calls] == [2, 1]
    assert np.array_equal(once_more, again[::-1])


def test_two_trainings_that_keep_embeddings_at_once_wait_for_one_another(tmp_path: Path):
    named = store_path(tmp_path, "some encoder")
    path = of_width(named, 384)
    store = EmbedStore(named, lambda: lambda texts: np.ones((len(texts), 384), np.float32))

    with path.open("wb") as other, ThreadPoolExecutor() as threads:
        fcntl.flock(other, fcntl.LOCK_EX)
        kept = threads.submit(store.vectors, ["one"])
        with pytest.raises(TimeoutError):
            kept.result(timeout=0.2)
        assert path.stat().st_size == 0
        fcntl.flock(other, fcntl.LOCK_UN)
        kept.result()

    assert path.stat().st_size > 0
