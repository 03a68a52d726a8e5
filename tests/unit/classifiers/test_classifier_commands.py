"""The commands as they are typed: a fault of the file ends with 1 and its line, never with a traceback."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli import app


def run(*words: str | Path):
    return CliRunner().invoke(app, [str(word) for word in words])


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


def test_a_header_alone_writes_the_shipped_classifier(tmp_path: Path):
    data = tmp_path / "none.csv"
    data.write_text("prompt_id,prompt,small_correct,large_correct\n")

    result = run("train", "--data", data, "--out", tmp_path / "out")

    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "manifest.json").is_file()
    assert "the shipped classifier" in result.output
