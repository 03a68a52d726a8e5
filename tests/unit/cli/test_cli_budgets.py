"""`turnout check` and `turnout explain` on a policy with budgets and hedges."""

import pytest
from typer.testing import CliRunner

from gateway.cli import app

POLICY = """policy: 1
models:
  small: {at: ["http://a/v1", "http://b/v1"], price: {input: $1/M, output: $2/M}}
  large: {at: "http://c/v1", price: {input: $10/M, output: $20/M}}
routes: [{name: r, use: large}]
budgets:
  - {per: tenant, limit: $50/day, when_spent: {downgrade_to: small}}
  - {per: all, limit: 1k/min, burst: 30s}
resilience: {hedge: {after: 800ms}}
"""


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)

    def told(command, *options):
        result = CliRunner().invoke(app, [command, str(path), *options])
        return result.exit_code, " ".join(result.output.split())

    return told


def test_check_shows_every_budget(run):
    code, told = run("check")

    assert code == 0
    assert "tenant-day $50/day tenant downgrade to small local_share" in told
    assert "all-min 1k/min, 500 tokens at once everybody reject local_share" in told


def test_explain_shows_what_is_set_aside_and_who_answers_when_it_is_spent(run):
    code, told = run("explain", "--text", "hi", "--stream")
    assert code == 0
    assert "tenant-day $50/day $0.006010" in told
    assert "all-min 1k/min 301 tokens" in told
    assert "nobody is asked as well: no other replica of it may answer" in told

    code, told = run("explain", "--text", "hi", "--stream", "--spent", "tenant-day")
    assert code == 0
    assert "small: budget tenant-day is spent; else large" in told
    assert "after 0.8 s of silence http://" in told


def test_explain_of_a_spent_budget_that_rejects_is_a_refusal(run):
    code, told = run("explain", "--text", "hi", "--spent", "all-min")

    assert code == 1
    assert "refused: over_budget: budget all-min is spent; it has room again in" in told
