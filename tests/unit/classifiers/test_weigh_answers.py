"""Weights of an answer's signals: the prior, moved as far as the answers say, and no further."""

import csv
import math
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from classifiers.training.weigh import FEWEST, Outcome, weigh
from gateway.cli.root import app
from policies.escalate.measures import measures_of
from policies.escalate.prior import PRIOR
from policies.escalate.reckoning import Reckoning
from policies.escalate.signals import Signals
from policies.escalate.weights_file import read_weights


def answer(rng: random.Random, *, bias: float, loose_end: float, estimate: float = 0.0) -> Outcome:
    """Right as often as a logistic with these weights says."""
    loose, odds = rng.random() < 0.5, rng.uniform(-2, 2)
    p = 1 / (1 + math.exp(-(bias + loose_end * loose + estimate * odds)))
    signals = Signals(
        whole=True, tokens=100, characters=400, asked_characters=200, reckoning=Reckoning(steps=3, loose_end=loose)
    )
    return Outcome(measures_of(signals), rng.random() < p, 1 / (1 + math.exp(-odds)) if estimate else None)


def test_planted_weights_are_found_and_what_nothing_was_learnt_of_keeps_its_prior() -> None:
    rng = random.Random(7)
    found = weigh([answer(rng, bias=0.5, loose_end=-1.5, estimate=0.7) for _ in range(4000)])

    assert found.bias == pytest.approx(0.5, abs=0.15)
    assert found.measures["loose_end"] == pytest.approx(-1.5, abs=0.2)
    assert found.estimate == pytest.approx(0.7, abs=0.1)
    for name in ("empty", "refusal", "misshapen", "dip", "cut"):
        assert found.measures[name] == pytest.approx(PRIOR.measures[name])


def test_few_answers_move_little() -> None:
    rng = random.Random(7)
    found = weigh([answer(rng, bias=0.5, loose_end=-4.0) for _ in range(FEWEST)])
    assert -3.5 < found.measures["loose_end"] < PRIOR.measures["loose_end"]


@pytest.mark.parametrize("right", [[True] * 100, [False] * 100, [True, False] * (FEWEST // 2 - 1)])
def test_answers_that_say_nothing_are_refused(right: list[bool]) -> None:
    plain = Signals(whole=True, tokens=1, characters=1)
    with pytest.raises(ValueError, match="needs at least 50 answers"):
        weigh([Outcome(measures_of(plain), good) for good in right])


def rows(path: Path, *lines: tuple[str, ...]) -> Path:
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        csv.writer(file).writerows(lines)
    return path


def test_the_command_writes_a_file_that_a_policy_can_name(tmp_path: Path) -> None:
    head = ("prompt", "response", "correct", "model", "finish", "logprobs")
    good = [("2 and 3?", "2 + 3 = 5. So 5.", "1", "small", "stop", "-0.1 -0.2")] * 40
    bad = [("2 and 3?", "2 + 3 = 6. So 6.", "0", "small", "length", "-3.1 -2.2")] * 40
    data, out = rows(tmp_path / "a.csv", head, *good, *bad), tmp_path / "w.json"

    result = CliRunner().invoke(app, ["weigh", "--data", str(data), "--out", str(out)])

    assert result.exit_code == 0, result.output
    fitted = read_weights(out.read_bytes()).models["small"]
    assert fitted.measures["false_step"] < PRIOR.measures["false_step"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([("prompt", "response")], "a.csv:1 lacks the column 'correct'"),
        ([("prompt", "response", "correct"), ("q", "a", "yes")], "a.csv:2"),
        (
            [("prompt", "response", "correct", "finish"), ("q", "a", "1", "done")],
            "finish 'done' is none of stop, length",
        ),
        ([("prompt", "response", "correct", "logprobs"), ("q", "a", "1", "nan")], "logprobs should be numbers"),
        ([("prompt", "response", "correct"), ("q", "a", "1")], "needs at least 50 answers"),
        ([("prompt", "response", "correct"), ("q", "a", "nan")], "a.csv:2 correct is 'nan'; a number from 0 to 1"),
        ([("prompt", "response", "correct", "p_good"), ("q", "a", "1", "2")], "a.csv:2 p_good is '2'"),
        ([("prompt", "response", "correct"), ("q", "a")], "a.csv:2 has 2 cells where the header has 3"),
        ([("prompt", "response", "correct"), ("q", "\udcff", "1")], "a.csv:2 is not UTF-8"),
        ([], "a.csv:1 is empty"),
    ],
)
def test_a_file_that_says_nothing_is_told_so(tmp_path: Path, lines: list[tuple[str, ...]], told: str) -> None:
    data = rows(tmp_path / "a.csv", *lines)
    result = CliRunner().invoke(app, ["weigh", "--data", str(data), "--out", str(tmp_path / "w.json")])
    assert result.exit_code == 1
    assert told in " ".join(result.output.split())


def test_answers_may_be_long_and_begin_as_spreadsheets_begin(tmp_path: Path) -> None:
    answers = [("q", "a" * 200_000, "1"), *[("2 and 3?", "6", str(at % 2)) for at in range(FEWEST)]]
    data = rows(tmp_path / "a.csv", ("\ufeffprompt", "response", "correct"), *answers)

    result = CliRunner().invoke(app, ["weigh", "--data", str(data), "--out", str(tmp_path / "new" / "w.json")])

    assert result.exit_code == 0, result.output
    assert (tmp_path / "new" / "w.json").is_file()


def test_a_place_where_no_weights_can_be_written_is_told(tmp_path: Path) -> None:
    data = rows(tmp_path / "a.csv", ("prompt", "response", "correct"))

    for out, told in ((tmp_path, "is a folder, and a file is needed"), (data / "w.json", "a file stands there")):
        result = CliRunner().invoke(app, ["weigh", "--data", str(data), "--out", str(out)])

        assert result.exit_code == 1
        assert told in result.stderr
