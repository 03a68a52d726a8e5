"""`turnout check` shows shadows, and says what comparing needs and this machine lacks."""

from pathlib import Path

from typer.testing import CliRunner

from gateway.cli import app

POLICY = """policy: 1
models:
  small: {at: "http://127.0.0.1:9001/v1"}
  large: {at: "http://127.0.0.1:9002/v1", price: {input: $1/M, output: $2/M}, fits: {output: 8k}}
routes: [{name: chat, use: small}]
shadows:
  - {name: could, of: chat, to: large, sample: 2%, limits: {cost: $5/day}, compare: [edit], noise_floor: {answer_twice: 10%}}
"""


def test_checking_a_policy_shows_its_shadows(tmp_path: Path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)

    result = CliRunner().invoke(app, ["check", str(file)])

    assert result.exit_code == 0
    (row,) = [line.split() for line in result.stdout.splitlines() if "could" in line]
    assert row == ["could", "chat", "large", "2%,", "10%", "twice", "$5", "edit"]


def test_without_a_folder_the_command_says_which_one_it_wants(monkeypatch):
    monkeypatch.delenv("TURNOUT_SHADOWS__DIR", raising=False)
    monkeypatch.delenv("TURNOUT_DECISIONS__DIR", raising=False)

    result = CliRunner().invoke(app, ["shadow", "status"])

    assert result.exit_code == 2
    assert "TURNOUT_SHADOWS__DIR" in result.output
