"""Any encoder will do: one of 24 numbers, of random weights, goes through every command and answers requests."""

import csv
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("sentence_transformers")

from classifiers import artefact
from classifiers.embedding.encoder import (
    DEFAULT_NAME,
    EncoderMissing,
    Vectors,
    encoder_for,
    encoder_name,
    find_encoder,
    identity_of,
    open_encoder,
    open_quick_encoder,
)
from classifiers.embedding.store import EmbedStore, of_width
from classifiers.estimator import Estimator, open_estimator
from classifiers.features.packing import make_of, pack, width_of
from classifiers.heads.inputs import read_inputs
from classifiers.outcomes.own import OutcomesRefused
from classifiers.question import Question
from classifiers.training.from_log import calibrate_from_log, train_from_log
from classifiers.training.lessons import Lesson, Lessons
from gateway.cli import app

WIDTH = 24
HEADS = ("small", "large")
WORDS = ("say", "prove", "hello", "theorem", "number", "what", "is", "the", "capital", "of", "france", "?")


def made(folder: Path, width: int = WIDTH, seed: int = 0) -> Path:
    """A folder of sentence-transformers with random weights."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as parts
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(seed)
    plain, (marks, letters) = folder / "plain", (("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), "0123456789")
    plain.mkdir(parents=True)
    pieces = [*marks, *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    (plain / "vocab.txt").write_text("\n".join(pieces) + "\n")
    BertTokenizerFast(str(plain / "vocab.txt")).save_pretrained(plain)
    size = BertConfig(
        vocab_size=len(pieces), hidden_size=width, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    BertModel(size).save_pretrained(plain)
    whole = SentenceTransformer(modules=[parts.Transformer(str(plain), max_seq_length=64), parts.Pooling(width)])
    whole.save(str(folder / "encoder"))
    return folder / "encoder"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Large is good at all, small at what says hello."""
    path = tmp_path_factory.mktemp("data") / "own.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("prompt_id", "prompt", "small_correct", "large_correct"))
        for at in range(60):
            writer.writerow((at, f"{'prove theorem' if at % 2 else 'say hello'} number {at}", 1 - at % 2, 1))
    return path


@pytest.fixture(scope="module")
def told(encoder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory):
    """Runs a command, its own folder being the cache, and hands back its result; it never ends in a traceback."""
    folder = tmp_path_factory.mktemp("told")

    def run(*words: object):
        found = CliRunner().invoke(app, list(map(str, words)), env={"TURNOUT_CACHE_DIR": str(folder / "cache")})
        assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
        return found

    result = run("train", "--data", data, "--out", folder / "art", "--embedder", os.path.relpath(encoder))
    assert result.exit_code == 0, result.output
    run.folder = folder
    return run


def test_training_asks_the_encoder_how_wide_its_vectors_are(told, encoder: Path) -> None:
    opened = artefact.load(told.folder / "art")

    assert (opened.manifest.width, opened.probe.shape) == (WIDTH, (WIDTH,))
    assert opened.manifest.encoder == str(encoder.resolve()), "whoever opens it stands in another folder"


def test_every_command_knows_by_the_artefact_which_encoder_it_takes(told, data: Path) -> None:
    art, out = told.folder / "art", told.folder / "scores.csv"

    for words in (
        ("score", "--artefact", art, "--data", data, "--out", out),
        ("evaluate", "--artefact", art, "--data", data, "--resamples", 5),
        ("calibrate", "--artefact", art, "--data", data, "--out", told.folder / "moved"),
        ("compare", art, told.folder / "moved", "--data", data, "--resamples", 5),
    ):
        found = told(*words)
        assert found.exit_code == 0, found.output
    assert artefact.load(told.folder / "moved").manifest.width == WIDTH
    assert len(out.read_text().splitlines()) == 61


def test_what_was_embedded_is_not_embedded_again(told, data: Path) -> None:
    found = told("score", "--artefact", told.folder / "art", "--data", data, "--out", told.folder / "again.csv")

    assert "embedded" not in found.stderr


def test_comparing_embeds_a_prompt_once_for_both(told, data: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh.csv"
    fresh.write_text(data.read_text().replace("number", "what is the number"))

    found = told("compare", told.folder / "art", told.folder / "art", "--data", fresh, "--resamples", 5)

    assert [line for line in found.stderr.splitlines() if line.startswith("embedded")] == ["embedded 60 of 60 prompts"]


def test_an_artefact_on_another_encoder_is_refused_in_one_line(told, data: Path, tmp_path: Path) -> None:
    other = made(tmp_path, width=16)

    found = told(
        "score", "--artefact", told.folder / "art", "--data", data, "--out", tmp_path / "s.csv", "--embedder", other
    )

    assert found.exit_code == 1
    [line] = [line for line in found.stderr.splitlines() if not line.startswith("embedded")]
    assert "was trained on the encoder" in line
    assert "answers differently" in line


class Here:
    """An Embedder without a process of its own: starting one takes longer than all the rest."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._encode = open_quick_encoder(source, threads=1)

    def submit(self, text: str) -> "Future[Vectors]":
        answer: Future[Vectors] = Future()
        answer.set_result(self._encode([text])[0])
        return answer

    def close(self) -> None:
        pass


def test_requests_are_estimated_by_it_and_their_numbers_teach_the_next(told, encoder: Path, tmp_path: Path) -> None:
    estimator = open_estimator(told.folder / "art", opening=Here)
    estimate = estimator.estimate_now(Question(("prove theorem number 7",)))
    rows = [_lesson(estimator, at) for at in range(80)]
    assert estimate.p_good["large"] > estimate.p_good["small"], estimate.abstains

    log = Lessons(
        name="log",
        heads=HEADS,
        rows=rows,
        counts={head: {"feedback": 40} for head in HEADS},
        numberless=0,
        most_weight=50,
    )
    settings = {"trained_on": "2026-01-01", "embedder": str(encoder)}
    train_from_log(log, tmp_path / "new", cache_dir=tmp_path, **settings)
    calibrate_from_log(tmp_path / "new", log, tmp_path / "moved", trained_on="2026-01-01")

    assert {width_of(row.numbers) for row in rows} == {WIDTH}
    assert [artefact.load(tmp_path / name).manifest.width for name in ("new", "moved")] == [WIDTH, WIDTH]


def test_an_artefact_goes_live_on_the_encoder_it_names_whatever_stands_in_for_the_default(
    told, encoder: Path, tmp_path: Path
) -> None:
    opened: list[str] = []
    other = str(made(tmp_path, width=16))

    open_estimator(told.folder / "art", other, lambda source: opened.append(source) or Here(source))

    assert opened == [str(encoder.resolve())]
    assert encoder_for(DEFAULT_NAME, other) == other
    assert encoder_for("/gone/from/here", other) == other
    assert encoder_for("nobody/nothing", other) == other
    assert encoder_for("nobody/nothing", None) == "nobody/nothing"
    with pytest.raises(EncoderMissing, match="/gone/from/here is no directory"):
        encoder_for("/gone/from/here", None)


def test_a_hub_that_does_not_answer_is_asked_once_and_told_in_one_line_before_anything_big_is_imported() -> None:
    program = (
        "import sys\n"
        "from classifiers.embedding.encoder import EncoderMissing, open_encoder\n"
        "try: open_encoder('nobody/nothing', threads=1)\n"
        "except EncoderMissing as error: print(error)\n"
        "print('torch' in sys.modules)"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )

    assert ended.stderr == ""
    [line, has_torch] = ended.stdout.splitlines()
    assert line.startswith("the embedder nobody/nothing cannot be opened: it is no folder, was never fetched")
    assert has_torch == "False"


def _lesson(estimator: Estimator, at: int) -> Lesson:
    text = f"{'prove theorem' if at % 2 else 'say hello'} number {at}"
    question = Question((text,))
    ask = estimator.numbers(question)
    estimator.estimate_now(question)
    numbers = ask()
    assert numbers is not None
    return Lesson(
        numbers=numbers,
        quality={HEADS[at // 2 % 2]: float(at % 2 == 0)},
        p_good={"small": 0.5, "large": 0.9},
        weight=1.0,
    )


def _log(widths: Sequence[int], make: str) -> Lessons:
    dice = np.random.default_rng(0)
    rows = []
    for at, width in enumerate(widths):
        vector = dice.standard_normal((1, width)).astype(np.float32)
        numbers = pack(read_inputs(["a question"], vector / np.linalg.norm(vector)), make)
        rows.append(Lesson(numbers=numbers, quality={HEADS[at % 2]: float(at % 3 == 0)}, p_good={}, weight=1.0))
    return Lessons(name="log", heads=HEADS, rows=rows, counts={}, numberless=0, most_weight=50)


def test_numbers_of_two_widths_under_one_name_are_of_two_encoders(encoder: Path, tmp_path: Path) -> None:
    make = make_of(encoder_name(str(encoder)))
    settings = {"cache_dir": tmp_path, "trained_on": "2026-01-01", "embedder": str(encoder)}

    train_from_log(_log([WIDTH] * 70 + [16] * 20, make), tmp_path / "out", **settings)
    assert artefact.load(tmp_path / "out").manifest.width == WIDTH

    with pytest.raises(OutcomesRefused, match=f"have 16 numbers, and those of the encoder .* have {WIDTH}"):
        train_from_log(_log([16] * 70, make), tmp_path / "other", **settings)
    with pytest.raises(OutcomesRefused, match="70 more have numbers of another encoder"):
        calibrate_from_log(tmp_path / "out", _log([16] * 70, make), tmp_path / "other", trained_on="2026-01-01")


def wide(width: int, asked: list[str]):
    def encode(texts: Sequence[str]) -> Vectors:
        asked.extend(texts)
        return np.full((len(texts), width), len(texts[0]), np.float32)

    return lambda: encode


def test_an_encoder_in_the_place_of_another_never_answers_with_that_ones_vectors(tmp_path: Path) -> None:
    path, asked = tmp_path / "some.rows", list[str]()
    EmbedStore(path, wide(8, asked)).vectors(["one", "three"])

    mixed = EmbedStore(path, wide(5, asked)).vectors(["one", "seven", "fourteen"])
    asked.clear()
    both = {width: EmbedStore(path, wide(width, asked)).vectors(["one", "new"]) for width in (8, 5)}

    assert mixed.shape == (3, 5)
    assert {width: rows.shape for width, rows in both.items()} == {8: (2, 8), 5: (2, 5)}
    assert all(of_width(path, width).is_file() for width in (8, 5))


def test_a_folder_is_another_encoder_when_its_files_are(tmp_path: Path) -> None:
    before = identity_of(str(tmp_path))
    (tmp_path / "weights").write_bytes(b"some")
    with_weights = identity_of(str(tmp_path))
    (tmp_path / "weights").write_bytes(b"others")

    assert len({before, with_weights, identity_of(str(tmp_path))}) == 3
    assert identity_of("a/hub-name") == "a/hub-name"


def test_a_folder_without_a_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(EncoderMissing, match="is a folder without a model"):
        find_encoder(str(tmp_path))


def test_what_lies_in_a_folder_and_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")

    with pytest.raises(EncoderMissing, match="cannot be opened") as told:
        open_encoder(str(tmp_path), threads=1)

    assert "\n" not in str(told.value)
