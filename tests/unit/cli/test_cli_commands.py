"""The command line: what it prints, what it refuses, and with which exit code."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from typer.testing import CliRunner

from gateway.cli import app
from gateway.cli.serve import one_model_policy, quoted
from policies.language.load import load_policy

GOOD = """policy: 1
models:
  small: {at: "http://127.0.0.1:9001/v1"}
  large: {at: "http://127.0.0.1:9002/v1"}
routes:
  - {name: default, use: small, fallback: [large]}
"""


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *args: CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(GOOD)
    return path


def test_a_good_policy_is_called_good(run, policy):
    result = run("check", policy)

    assert result.exit_code == 0
    assert "good" in result.stderr


def test_a_bad_policy_is_told_at_its_line_and_column_with_a_suggestion_and_code_2(run, policy):
    policy.write_text(GOOD.replace("fallback", "fallbck"))

    result = run("check", policy)

    assert result.exit_code == 2
    assert f"{policy}:6:33" in result.stderr
    assert 'did you mean "fallback"?' in result.stderr


def test_an_artefact_that_is_not_there_is_told_where_the_file_names_it(run, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(
        "policy: 1\nmodels: {small: {at: 'http://a/v1'}, large: {at: 'http://b/v1'}}\n"
        "routes: [{choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}}]\n"
        "difficulty: {artefact: nowhere}\n"
    )
    result = run("check", path)
    assert result.exit_code == 2
    assert "p.yaml:4:24 difficulty.artefact cannot be used: nowhere/manifest.json cannot be read" in result.output


@pytest.mark.parametrize("command", [("check",), ("serve",), ("explain", "--text", "hi")])
def test_a_policy_that_is_not_there_is_named_with_code_2(run, tmp_path, command):
    name, *options = command

    result = run(name, tmp_path / "none.yaml", *options)

    assert result.exit_code == 2
    assert "none.yaml" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        (("TURNOUT_CORS_ORIGINS", "https://a.example"), "cors_origins"),
        (("TURNOUT_LIMITS", "many"), "JSON"),
        (("TURNOUT_TELEMETRY__TRACE", "otlp"), "setting telemetry.trace"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(run, policy, variable, said, monkeypatch):
    monkeypatch.setenv(*variable)

    result = run("serve", policy, "--port", "0")

    assert result.exit_code == 2
    assert said in result.output


def test_a_bad_policy_does_not_start_a_gateway(run, policy):
    policy.write_text(GOOD.replace("small, fallback", "smal, fallback"))

    result = run("serve", policy, "--port", "0")

    assert result.exit_code == 2
    assert 'did you mean "small"?' in result.stderr


def test_the_schema_is_json_that_names_the_parts_of_a_policy(run):
    result = run("check", "--schema")

    assert result.exit_code == 0
    assert {"policy", "models", "routes"} <= json.loads(result.stdout)["properties"].keys()


def test_explain_shows_who_answers_who_is_next_and_why(run, policy):
    result = run("explain", policy, "--text", "hi there")

    assert result.exit_code == 0
    assert "chosen" in result.stdout
    assert "fallback 1" in result.stdout
    assert "route default uses it" in result.stdout


def test_explain_of_an_unknown_model_lists_the_names_and_ends_with_code_1(run, policy):
    result = run("explain", policy, "--text", "hi", "--model", "smal")

    assert result.exit_code == 1
    assert "refused: unknown_model" in result.stdout
    assert "auto, small, large" in result.stdout


def test_a_setting_that_is_no_number_is_named(run, policy, monkeypatch):
    monkeypatch.setenv("TURNOUT_PORT", "http")

    result = run("serve", policy)

    assert result.exit_code == 2
    assert "port" in result.stderr


def test_weights_that_are_not_there_are_told_with_the_names_that_are(run, tmp_path):
    result = run("models", "pull", "no-such-model", "--cache", tmp_path)

    assert result.exit_code == 1
    assert "smollm2-135m-instruct" in result.stderr


def test_comparing_weights_that_are_not_pulled_gives_the_line_that_pulls_them(run, tmp_path):
    result = run("models", "compare", "org/model", "--cache", tmp_path)

    assert result.exit_code == 1
    assert "turnout models pull org/model" in result.stderr


def test_training_without_data_says_which_files_are_missing(run, tmp_path):
    result = run("train", "--data", tmp_path, "--out", tmp_path / "out")

    assert result.exit_code == 1
    assert ".parquet" in result.stderr


@given(text=st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1))
def test_a_quoted_scalar_is_read_back_as_the_same_text(text):
    assert YAML(typ="safe").load(quoted(text)) == text


@pytest.mark.parametrize("name", ["model", "org/model:v1", "on", "0"])
def test_a_worker_is_a_policy_with_one_model(name):
    text = one_model_policy(name, "/weights/it's here.gguf", "int8", "ngram", "32k")

    loaded = load_policy(text, name="worker", calibrate=lambda _: pytest.fail("no classifier is needed"))

    assert loaded.policy is not None, loaded.problems
    assert loaded.policy.models[name].run.weights == "/weights/it's here.gguf"


@pytest.mark.parametrize("tools", [False, True])
def test_a_worker_calls_tools_where_it_is_told_to(tools):
    text = one_model_policy("m", "w", None, "off", "32k", tools=tools)

    loaded = load_policy(text, name="worker", calibrate=lambda _: pytest.fail("no classifier is needed"))

    assert loaded.policy.models["m"].can == {"json_schema", "logprobs"} | ({"tools"} if tools else set())
