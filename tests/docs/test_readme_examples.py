"""What the READMEs show is true: files exist, commands exist, policies load, the Python example runs."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli import app
from policies.estimates import Calibration
from policies.language.load import load_policy

ROOT = Path(__file__).parents[2]
ROOMS = ("backends", "classifiers", "gateway", "loadtests", "policies", "tests")
READMES = sorted(path for path in ROOT.glob("**/README.md") if not {".venv", "node_modules"} & set(path.parts))
FENCE = re.compile(r"```(\w*)\n(.*?)```", re.S)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
COMMAND = re.compile(r"^(?:\S*/)?turnout ((?:models |experiment |rollout )?[a-z]+)\b", re.M)
SOURCES = [str(path) for room in ROOMS for path in (ROOT / room).glob("**/*.py")]
CODE = re.compile(r"`([^`\n]+)`")


def blocks(path: Path, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(path.read_text()) if kind == language]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("readme", READMES, ids=named)
def test_every_link_leads_to_a_file(readme):
    missing = [target for target in LINK.findall(readme.read_text()) if not (readme.parent / target).exists()]

    assert missing == []


@pytest.mark.parametrize("readme", READMES, ids=named)
def test_every_python_file_named_stands_somewhere(readme):
    """By as much of its path as is said."""
    code = CODE.findall(FENCE.sub("", readme.read_text()))
    said = {name.replace("../", "") for name in code if re.fullmatch(r"[\w./]+\.py", name)}

    assert [name for name in sorted(said) if not any(path.endswith(f"/{name}") for path in SOURCES)] == []


@pytest.mark.parametrize("readme", READMES, ids=named)
def test_every_command_shown_exists(readme):
    code = [*CODE.findall(FENCE.sub("", readme.read_text())), *blocks(readme, "sh"), *blocks(readme, "")]
    shown = [name for body in code for name in COMMAND.findall(body)]

    for name in sorted(set(shown)):
        result = CliRunner().invoke(app, [*name.split(), "--help"])
        assert result.exit_code == 0, f"{named(readme)} shows `turnout {name}`:\n{result.output}"


@pytest.mark.parametrize("readme", READMES, ids=named)
def test_every_module_run_with_python_exists(readme):
    modules = re.findall(r"python -m ((?:loadtests|gateway)[\w.]*)", readme.read_text())

    for module in modules:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


@pytest.mark.parametrize("readme", READMES, ids=named)
def test_every_whole_policy_shown_loads(readme):
    for body in blocks(readme, "yaml"):
        if not re.search(r"^policy: 1$", body, re.M):
            continue
        flat = Calibration(p_good={"small": (0.2, 0.5, 0.9), "large": (0.8, 0.9, 0.95)})
        loaded = load_policy(body, name=named(readme), calibrate=lambda _, sample=flat: sample)
        assert loaded.policy is not None, "\n".join(problem.render() for problem in loaded.problems)


def test_the_set_up_commands_of_the_readme_are_files_and_ci_runs_the_test_command():
    text = (ROOT / "README.md").read_text()

    for script in ("deploy/up.sh", "tests/run.sh"):
        assert f"sh {script}" in text
        assert (ROOT / script).is_file()
    assert "exec sh tests/run.sh" in (ROOT / ".ci/run").read_text()
