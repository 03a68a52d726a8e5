"""Weights of tasks: their own where their answers call for it, the model's where they are few or no different."""

import csv
import random
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from classifiers.heads.logistic import sigmoid
from classifiers.training.weigh import Outcome, arrayed, weigh
from classifiers.training.weigh_told import told
from gateway.cli.root import app
from policies.escalate.measures import measures_of
from policies.escalate.signals import Signals
from policies.escalate.task import Task
from policies.escalate.weights_file import read_weights

USUAL = Signals(whole=True, tokens=100, characters=400, asked_characters=200)


def planted(dice: random.Random, task: Task, weight: float, bias: float = 0.5) -> Outcome:
    """Right as often as a logistic with this weight of the length says."""
    length = dice.uniform(-2, 2)
    chance = float(sigmoid(np.array(bias + weight * length)))
    return Outcome({**measures_of(USUAL), "length": length}, dice.random() < chance, task=task)


def mixed(
    count_code: int, count_number: int, *, code: float = 1.5, number: float = -1.5, seed: int = 7
) -> list[Outcome]:
    dice = random.Random(seed)
    found = [planted(dice, "code", code) for _ in range(count_code)]
    found += [planted(dice, "number", number) for _ in range(count_number)]
    dice.shuffle(found)
    return found


def test_a_signal_that_means_opposite_things_in_two_tasks_is_weighed_so() -> None:
    found = weigh(mixed(600, 600))

    assert abs(found.measures.get("length", 0.0)) < 0.3
    assert found.tasks["code"].measures["length"] == pytest.approx(1.5, abs=0.4)
    assert found.tasks["number"].measures["length"] == pytest.approx(-1.5, abs=0.4)
    everything = next(told(mixed(600, 600)))
    assert everything.auc < 0.6
    assert everything.auc_own > 0.75


@pytest.mark.parametrize("seed", range(8))
def test_few_answers_of_a_task_leave_it_near_the_model(seed: int) -> None:
    found = weigh(mixed(600, 3, seed=seed))
    own = found.tasks.get("number", found)
    assert own.measures["length"] == pytest.approx(found.measures["length"], abs=0.15)
    assert own.bias == pytest.approx(found.bias, abs=0.15)


def test_more_answers_of_a_task_bring_its_weights_nearer_to_its_own() -> None:
    at = [weigh(mixed(600, count)).tasks["number"].measures["length"] for count in (40, 150, 1_000)]
    assert 1.0 > at[0] > at[1] > at[2] > -1.7


def test_tasks_that_do_not_differ_are_not_told_apart_to_their_harm() -> None:
    found = [next(told(mixed(300, 60, code=1.0, number=1.0, seed=seed))) for seed in range(6)]
    assert sum(of.loss_own - of.loss for of in found) / len(found) <= 0.002


def test_a_lone_task_has_the_weights_of_its_model() -> None:
    assert weigh(mixed(200, 0)).tasks == {}


def test_a_task_that_nobody_named_has_no_weights_of_its_own() -> None:
    dice = random.Random(3)
    unnamed = [planted(dice, "", -1.5) for _ in range(300)]
    assert set(weigh([*mixed(300, 0), *unnamed]).tasks) == {"code"}


def test_the_order_of_tasks_in_a_file_changes_what_is_told_by_little() -> None:
    answers = mixed(300, 300)
    by_task = sorted(answers, key=lambda outcome: outcome.task)
    one, other = (weigh(known).tasks["number"].measures["length"] for known in (answers, by_task))
    assert one == pytest.approx(other, abs=0.25)
    assert arrayed(answers).rows.shape == arrayed(by_task).rows.shape


def file(path: Path, *lines: tuple[str, ...]) -> Path:
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(lines)
    return path


def rows(task: str, prompt: str, short_is_right: bool) -> list[tuple[str, ...]]:
    """Answers of two lengths."""
    return [
        (prompt, "x " * (20 if i % 2 else 900), str(int((i % 2 == 1) == short_is_right or i % 10 == 0)), "small", task)
        for i in range(160)
    ]


def run(path: Path, out: Path) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": "240"}).invoke(app, ["weigh", "--data", str(path), "--out", str(out)])
    return result.exit_code, result.output


@pytest.mark.parametrize("named", [True, False])
def test_the_command_fits_tasks_that_a_column_names_or_the_prompt_shows(named: bool, tmp_path: Path) -> None:
    head = ("prompt", "response", "correct", "model", "task")
    code = rows("code" if named else "", "Write a function, please.", short_is_right=False)
    number = rows("number" if named else "", "Ann has 3 pears and 2 figs. How many?", short_is_right=True)
    data, out = file(tmp_path / "a.csv", head, *code, *number), tmp_path / "w.json"

    status, output = run(data, out)

    assert status == 0, output
    fitted = read_weights(out.read_bytes()).models["small"]
    assert fitted.tasks["number"].measures["length"] < 0 < fitted.tasks["code"].measures["length"]
    of_number = next(line for line in output.splitlines() if "number" in line and "its own" in line)
    assert ("160" in of_number, "60%" in of_number) == (True, True)


def test_a_task_that_is_none_is_told_so(tmp_path: Path) -> None:
    data = file(tmp_path / "a.csv", ("prompt", "response", "correct", "task"), ("q", "a", "1", "sums"))
    status, output = run(data, tmp_path / "w.json")
    assert status == 1
    assert "task 'sums' is none of tools, json, choice, code, number, text" in " ".join(output.split())


def test_of_json_that_is_asked_for_the_form_is_judged(tmp_path: Path) -> None:
    head = ("prompt", "response", "correct", "task")
    good, bad = [("q", '{"a": 1}', "1", "json")] * 40, [("q", "a is 1", "0", "json")] * 40
    out = tmp_path / "w.json"
    status, output = run(file(tmp_path / "a.csv", head, *good, *bad), out)
    assert status == 0, output
    assert read_weights(out.read_bytes()).models[""].measures["misshapen"] < -5.0
