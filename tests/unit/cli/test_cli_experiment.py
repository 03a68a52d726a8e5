"""`turnout experiment`: planning, trying out, and mistakes. What a running gateway is told stands in tests/conformance."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli import app

POLICY = """policy: 1
models: {m: {at: "http://127.0.0.1:9001/v1"}}
routes: [{name: default, use: m}]
guardrails: {errors: {metric: error_rate, worse_by: 1pp}}
experiments:
  - name: second
    variants: {control: {weight: 90}, treat: {weight: 10, set: {models.m.serves: v2}}}
    measure: {primary: {metric: METRIC}}
    watch: [errors]
"""


def command(*words: str):
    return CliRunner().invoke(app, ["experiment", *words])


@pytest.fixture
def policy(tmp_path: Path):
    def written(metric: str = "{metric: task_success, smallest_effect: 5pp}") -> str:
        path = tmp_path / "policy.yaml"
        path.write_text(POLICY.replace("{metric: METRIC}", metric))
        return str(path)

    return written


def test_about_how_many_units_are_needed_is_said_before_it_starts(policy):
    said = command("simulate", policy(), "--baseline", "0.8")
    told = json.loads(command("simulate", policy(), "--baseline", "0.8", "--effect", "10pp", "--json").stdout)

    assert said.exit_code == 0
    assert "second: treat against control needs about " in said.stdout
    few, many = told["units"]["treat"], int(said.stdout.split("about ")[1].split()[0].replace(",", ""))
    assert 100 < few < many


@pytest.mark.parametrize(
    ("metric", "words", "told"),
    [
        ("{metric: task_success}", ["--baseline", "0.8"], "smallest_effect"),
        ("{metric: task_success}", [], "--baseline"),
        ("{metric: task_success}", ["--baseline", "0.8", "--effect", "5"], "should be a difference"),
        ("{metric: cost_per_request}", ["--baseline", "900", "--effect", "10%"], "--deviation"),
        ("{metric: task_success}", ["--experiment", "other", "--baseline", "0.8"], "no experiment other"),
    ],
)
def test_what_is_missing_for_a_plan_is_told(policy, metric, words, told):
    said = command("simulate", policy(metric), *words)

    assert said.exit_code == 2
    assert told in said.output


def test_a_mean_is_planned_with_its_deviation(policy):
    words = ("--baseline", "900", "--deviation", "1200", "--effect", "10%", "--json")

    assert (
        json.loads(command("simulate", policy("{metric: cost_per_request}"), *words).stdout)["units"]["treat"] > 1_000
    )


def test_the_null_suite_prints_alpha_and_the_rate_of_false_stops_of_each_world():
    said = command("simulate", "--suite", "null", "--runs", "20", "--length", "150", "--seed", "3", "--json")
    found = json.loads(said.stdout)

    assert said.exit_code == 0
    assert found["holds"] is True
    assert len(found["nulls"]) == 44
    assert all(0 <= null["false_stop_rate"] <= 1 and null["alpha"] in (0.05, 0.01) for null in found["nulls"])


def test_the_power_suite_says_how_soon_a_difference_is_seen():
    found = json.loads(command("simulate", "--suite", "power", "--runs", "20", "--seed", "3", "--json").stdout)

    assert found["median_samples"] / found["median_asympcs"] == pytest.approx(found["vs_asympcs"])
    assert found["undecided"] == 0


def test_nothing_to_try_out_is_a_mistake_of_usage():
    assert command("simulate").exit_code == 2
    assert command("simulate", "--suite", "other").exit_code == 2


def test_checking_a_policy_shows_its_experiments(policy):
    said = CliRunner().invoke(app, ["check", policy()])

    assert said.exit_code == 0
    assert all(word in said.stdout for word in ("second", "treat", "10.0%", "errors"))
