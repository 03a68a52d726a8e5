"""`turnout models quantise` and what follows it, as a person types it."""

import signal

import pytest
from saved_models import make, save
from typer.testing import CliRunner

from backends.engine.weights.opening import open_weights
from gateway.cli import app
from gateway.cli.serve import one_model_policy
from gateway.cli.terminal import unwound
from policies.language.load import load_policy


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *args: CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return save(make("llama"), tmp_path_factory.mktemp("models") / "plain")


def test_it_writes_a_directory_that_opens_and_names_the_line_that_measures_it(run, plain, tmp_path):
    result = run("models", "quantise", plain, "--precision", "int4", "--out", tmp_path / "made")

    assert result.exit_code == 0, result.stderr
    assert open_weights(tmp_path / "made").source.precision == "int4"
    assert f"turnout models compare {plain}" in result.stderr
    assert "from F32" in result.stderr


def test_with_a_report_it_says_what_the_precision_costs(run, plain, tmp_path):
    result = run("models", "quantise", plain, "--precision", "int8", "--out", tmp_path / "made", "--report")

    assert result.exit_code == 0, result.stderr
    float32, int8 = (
        line.split() for line in result.stdout.splitlines() if line.strip().startswith(("float32", "int8"))
    )
    assert float32[2:] == ["0.0000", "100.0%"]
    assert 0 < float(int8[2]) < 0.1


def test_what_it_cannot_do_ends_with_code_1_and_what_would_be_right(run, plain, tmp_path):
    made = tmp_path / "made"
    assert run("models", "quantise", plain, "--precision", "int8", "--out", made).exit_code == 0

    for arguments, said in (
        (("quantise", plain, "--precision", "int4", "--out", made), "name another directory"),
        (("quantise", made, "--precision", "int4", "--out", tmp_path / "b"), "name the weights that it was made from"),
        (("quantise", "org/model", "--precision", "int4", "--out", tmp_path / "b"), "turnout models pull org/model"),
        (("compare", made), "compare the weights that it was made from"),
    ):
        result = run("models", *arguments, *(("--cache", tmp_path)))
        assert (result.exit_code, said in result.stderr) == (1, True), result.stderr

    assert open_weights(made).source.precision == "int8"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_who_is_told_to_stop_unwinds_first(number, code):
    before = signal.getsignal(number)

    with pytest.raises(SystemExit) as left, unwound():
        signal.raise_signal(number)

    assert left.value.code == code
    assert signal.getsignal(number) is before


def test_a_worker_states_a_precision_only_when_it_was_given_one():
    for given in (None, "int8"):
        text = one_model_policy("m", "/weights", given, "off", "32k")
        loaded = load_policy(text, name="worker", calibrate=lambda _: pytest.fail("no classifier is needed"))

        assert loaded.policy.models["m"].run.precision == given
