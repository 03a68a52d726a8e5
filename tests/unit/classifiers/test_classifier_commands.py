"""The commands as they are typed: what each prints, writes and draws, and that wrong use is a line, never a traceback."""

import csv
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from classifiers import artefact
from classifiers.embedding.encoder import DEFAULT_NAME
from classifiers.embedding.store import EmbedStore, store_path
from classifiers.measuring.compare import FORMS
from classifiers.measuring.curves import Curves
from classifiers.measuring.report import Report
from gateway.cli import app
from gateway.cli.results import writable

ROWS = 120
MODELS = ("_klein", "模型 $1$", "groß")


def run(*words: str | Path, **settings: str):
    return CliRunner().invoke(app, [str(word) for word in words], env=settings)


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.csv"
    path.write_text("prompt_id,prompt,small_correct,large_correct\na,hi,0,1\nb,hi,maybe,1\n")
    return path


@pytest.mark.parametrize("command", ["train", "evaluate", "calibrate"])
def test_a_bad_file_is_named_with_its_line(command: str, bad: Path, tmp_path: Path):
    out = ("--out", tmp_path / "out") if command != "evaluate" else ()

    result = run(command, "--data", bad, *out)

    assert result.exit_code == 1
    assert "bad.csv:3 small_correct is 'maybe'" in result.output
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_no_artefact_is_refused(bad: Path, tmp_path: Path):
    for words in (("score", "--artefact", tmp_path, "--out", tmp_path / "s.csv"), ("compare", tmp_path, tmp_path)):
        result = run(*words, "--data", bad)

        assert result.exit_code == 1
        assert "manifest.json cannot be read" in result.output or "small_correct is 'maybe'" in result.output


@pytest.fixture
def none(tmp_path: Path) -> Path:
    """A file of outcomes that holds none yet."""
    path = tmp_path / "none.csv"
    path.write_text("prompt_id,prompt,small_correct,large_correct\n")
    return path


def test_a_header_alone_writes_the_shipped_classifier(none: Path, tmp_path: Path):
    result = run("train", "--data", none, "--out", tmp_path / "out")

    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "manifest.json").is_file()
    assert "the shipped classifier" in result.output
    told = json.loads((tmp_path / "out" / "report.json").read_text())
    assert told["rows"] == [["small", 0, None, None], ["large", 0, None, None]]


def write(path: Path, seed: int, shift: float = 0.0) -> Path:
    """The first model fails on proofs, the last one seldom; `shift` makes all of them worse."""
    draw = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt_id", "prompt", *(f"{model}_correct" for model in MODELS)])
        for at in range(ROWS):
            fails = np.linspace(0.1, 0.9 if at % 2 else 0.2, len(MODELS))[::-1] + shift
            writer.writerow([at, prompt(at), *(int(draw.random() > chance) for chance in fails)])
    return path


def prompt(at: int) -> str:
    return f"{'prove the theorem' if at % 2 else 'say hello'} number {at}"


class World(msgspec.Struct, frozen=True):
    """A folder whose name isn't ASCII, with embeddings of every prompt, and what training there printed and wrote."""

    folder: Path
    trained: Mapping[str, object]

    @property
    def artefact(self) -> Path:
        return self.folder / "gelernt"

    def asks(self, *words: str | Path) -> Mapping[str, object]:
        """What a command says in JSON."""
        result = run(*words, "--json", TURNOUT_CACHE_DIR=str(self.folder))
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout, parse_constant=pytest.fail)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder, draw = tmp_path_factory.mktemp("größe 大"), np.random.default_rng(5)

    def encode(texts):
        rows = draw.standard_normal((len(texts), 384)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    EmbedStore(store_path(folder, DEFAULT_NAME), lambda: encode).vectors(
        [*map(prompt, range(ROWS)), artefact.PROBE_TEXT]
    )
    new = World(folder, {})
    data = write(folder / "データ.csv", 1)
    return World(folder, new.asks("train", "--data", data, "--out", new.artefact))


def printed(
    told: Mapping[str, object], world: World, *words: str | Path, forms: Mapping[str, str] | None = None
) -> bool:
    """Whether each number of the table in JSON stands in the table that the same command prints."""
    result = run(*words, TURNOUT_CACHE_DIR=str(world.folder), COLUMNS="300")
    rows = tuple(tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row) for row in told["rows"])
    cells = Report(title="", columns=tuple(told["columns"]), rows=rows, forms=forms or {}).cells()
    return all(any(all(cell in line for cell in row) for line in result.stdout.splitlines()) for row in cells)


def curves_in(told: Mapping[str, object]) -> Curves:
    return msgspec.convert(told["curves"], Curves)


def test_training_tells_in_json_what_it_writes_beside_the_artefact(world: World):
    told = world.trained

    assert told == json.loads((world.artefact / "report.json").read_text())
    manifest = artefact.load(world.artefact).manifest
    assert told["artefact"] == manifest.digest[:12]
    assert told["metrics"] == manifest.metrics
    assert [row[0] for row in told["rows"]] == list(MODELS)
    assert [row[3] for row in told["rows"]] == [manifest.metrics[f"ece_{model}"] for model in MODELS]


def test_training_shows_curves_of_every_row_by_heads_that_had_not_seen_it(world: World):
    curves, means = curves_in(world.trained), [row[2] for row in world.trained["rows"]]

    assert curves.pair == (MODELS[0], MODELS[-1])
    for model, mean in zip(MODELS, means, strict=True):
        found = curves.reliability[model]
        assert sum(found.prompts) == ROWS
        assert np.average(found.observed, weights=found.prompts) == pytest.approx(mean)
    assert set(curves.deferral) == {"turnout", "random", "length", "oracle"}
    for name, measure in (("turnout", "apgr"), ("length", "apgr_length")):
        line = curves.deferral[name]
        assert (line.quality[0], line.quality[-1]) == pytest.approx((means[0], means[-1]))
        recovered = (np.trapezoid(line.quality, line.share) - means[0]) / (means[-1] - means[0])
        assert recovered == pytest.approx(world.trained["metrics"][measure], abs=0.01)


def test_calibrating_tells_of_chances_before_and_after_on_rows_that_the_scale_had_not_seen(
    world: World, tmp_path: Path
):
    data = write(tmp_path / "here.csv", 2, shift=0.1)

    told = world.asks("calibrate", "--artefact", world.artefact, "--data", data, "--out", tmp_path / "moved")

    assert told == json.loads((tmp_path / "moved" / "report.json").read_text())
    curves = curves_in(told)
    for model, observed, before, _, after, _ in told["rows"]:
        for found, mean in ((curves.before[model], before), (curves.reliability[model], after)):
            assert np.average(found.predicted, weights=found.prompts) == pytest.approx(mean)
            assert np.average(found.observed, weights=found.prompts) == pytest.approx(observed)
    assert not curves.deferral


def test_evaluating_keeps_its_names_and_adds_the_table(world: World):
    words = ("evaluate", "--artefact", world.artefact, "--data", world.folder / "データ.csv", "--resamples", "20")

    told = world.asks(*words)

    for name in ("artefact", "prompts", "coverage", "familiar_level", "quick", "routers", "chances", "curves"):
        assert name in told
    assert [row[0] for row in told["rows"]] == list(told["routers"])
    ours = told["rows"][0]
    router = told["routers"]["turnout"]
    assert ours[1:4] == [router["apgr"], router["apgr_95"], router["cpt50"]]
    assert printed(told, world, *words)


def test_comparing_tells_each_difference_and_the_curves_of_both(world: World):
    data = world.folder / "データ.csv"
    words = ("compare", world.artefact, world.artefact, "--data", data, "--resamples", "20")

    told = world.asks(*words)

    for name, *_, verdict in told["rows"]:
        assert told["measures"][name]["difference"] == 0.0
        assert verdict == "neither"
    assert told["curves"]["first"] == told["curves"]["second"]
    assert set(told["curves"]["first"]["reliability"]) == set(MODELS)
    assert printed(told, world, *words, forms=FORMS)


PICTURES: Mapping[str, tuple[Callable[[World, Path], tuple[str | Path, ...]], set[str]]] = {
    "train": (
        lambda world, out: ("train", "--data", world.folder / "データ.csv", "--out", out),
        {"reliability.png", "deferral.png", "frontier.png"},
    ),
    "calibrate": (
        lambda world, out: (
            "calibrate", "--artefact", world.artefact, "--data", world.folder / "データ.csv", "--out", out,
        ),
        {"reliability.png"},
    ),
    "evaluate": (
        lambda world, out: ("evaluate", "--artefact", world.artefact, "--data", world.folder / "データ.csv"),
        {"reliability.png", "deferral.png", "frontier.png"},
    ),
    "compare": (
        lambda world, out: (
            "compare", world.artefact, world.artefact, "--data", world.folder / "データ.csv", "--resamples", "5",
        ),
        {"reliability.png", "deferral.png"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", PICTURES)
def test_each_command_draws_its_pictures(command: str, world: World, tmp_path: Path):
    pytest.importorskip("matplotlib")
    words, names = PICTURES[command]
    plots = tmp_path / "bilder" / "größe"

    result = run(*words(world, tmp_path / "out"), "--plots", plots, TURNOUT_CACHE_DIR=str(world.folder))

    assert result.exit_code == 0, result.output
    assert {path.name for path in plots.iterdir()} == names
    assert all(path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") for path in plots.iterdir())
    assert result.stderr.count("drawn: ") == len(names)


def test_where_there_is_nothing_to_draw_it_is_said(none: Path, tmp_path: Path):
    pytest.importorskip("matplotlib")

    result = run("train", "--data", none, "--out", tmp_path / "out", "--plots", tmp_path / "plots")

    assert result.exit_code == 0, result.output
    assert "no deferral.png: there are no outcomes" in result.stderr
    assert not (tmp_path / "plots").exists()


@pytest.mark.parametrize("command", PICTURES)
def test_plots_without_matplotlib_say_what_to_install_before_anything_is_computed(
    command: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    words, _ = PICTURES[command]

    result = run(*words(world, tmp_path / "out"), "--plots", tmp_path / "plots", TURNOUT_CACHE_DIR=str(tmp_path))

    assert result.exit_code == 1
    assert "matplotlib" in result.stderr
    assert "[plots]" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [*PICTURES, "evaluate published tables"])
@pytest.mark.parametrize("place", ["file", "file/below", "/proc/self/nowhere"])
def test_a_place_that_cannot_be_drawn_into_is_told_before_anything_is_computed(
    command: str, place: str, world: World, tmp_path: Path
):
    (tmp_path / "file").touch()
    published = ("evaluate", "--data", tmp_path)
    words = PICTURES[command][0](world, tmp_path / "out") if command in PICTURES else published

    result = run(*words, "--plots", tmp_path / place, TURNOUT_CACHE_DIR=str(tmp_path))

    assert result.exit_code == 1
    assert "--plots" in result.stderr
    assert "a folder is needed" in result.stderr or "cannot be written" in result.stderr
    assert not result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("command", ["train", "calibrate", "score"])
def test_an_artefact_or_scores_that_cannot_be_put_there_are_told_before_anything_is_computed(
    command: str, world: World, tmp_path: Path
):
    (tmp_path / "file").touch()
    data = ("--data", world.folder / "データ.csv")

    result = run(command, *data, "--out", tmp_path / "file" / "below", TURNOUT_CACHE_DIR=str(tmp_path))

    assert result.exit_code == 1
    assert "file stands there, and a folder is needed" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_scores_into_a_folder_are_refused(world: World, tmp_path: Path):
    result = run("score", "--data", world.folder / "データ.csv", "--out", tmp_path)

    assert result.exit_code == 1
    assert "is a folder, and a file is needed" in result.stderr


def test_a_ctrl_c_leaves_no_folder_that_was_made_for_what_did_not_come(tmp_path: Path):
    def stopped() -> None:
        with writable(tmp_path / "new" / "deep", "--out"):
            assert (tmp_path / "new" / "deep").is_dir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()

    assert list(tmp_path.iterdir()) == []


def test_a_split_of_published_tables_is_not_passed_over_beside_a_csv(none: Path):
    result = run("evaluate", "--data", none, "--split", "mmlu-cv5")

    assert result.exit_code == 2
    assert "give --data their folder" in result.stderr
