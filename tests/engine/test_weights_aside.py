"""What stands beside a target while it is written, and what becomes of it when the writer is killed."""

import subprocess
import sys

import pytest
from saved_models import make, save

from backends.engine.store.aside import aside
from backends.engine.store.quantise import quantise

WAITS = """
import sys
from pathlib import Path
from backends.engine.store.quantise import quantise

class Waiting:
    def start(self, what, total):
        print("writing", flush=True)

    def advance(self, count):
        sys.stdin.read()

quantise(Path(sys.argv[1]), "int8", Path(sys.argv[2]), Waiting())
"""


class Quiet:
    def start(self, what: str, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return save(make("llama"), tmp_path_factory.mktemp("models") / "plain")


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_what_a_killed_run_has_left_is_removed_by_the_next_one_and_what_another_writes_is_not(plain, tmp_path):
    made = tmp_path / "made"
    command = [sys.executable, "-c", WAITS, str(plain), str(made)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "writing\n"
        [half] = names(tmp_path)

        quantise(plain, "int8", made, Quiet())
        beside_the_living = names(tmp_path)
        writer.kill()
        writer.wait()

    (tmp_path / "made").rename(tmp_path / "kept")
    beside_the_dead = names(tmp_path)
    quantise(plain, "int8", made, Quiet())

    assert half.startswith(".made.")
    assert beside_the_living == [half, "made"]
    assert beside_the_dead == [half, "kept"]
    assert names(tmp_path) == ["kept", "made"]


def test_what_only_looks_like_a_leftover_stays(plain, tmp_path):
    """Another target's, a file, a link to somebody's directory, and a directory without the whole name."""
    elsewhere = tmp_path / "elsewhere"
    for folder in (elsewhere, tmp_path / ".other.turnout-1", tmp_path / ".made-1"):
        folder.mkdir()
        (folder / "own").touch()
    (tmp_path / ".made.turnout-2").touch()
    (tmp_path / ".made.turnout-3").symlink_to(elsewhere)
    before = names(tmp_path)

    quantise(plain, "int8", tmp_path / "made", Quiet())

    assert names(tmp_path) == sorted([*before, "made"])
    assert names(elsewhere) == ["own"]


def test_a_directory_to_write_into_is_empty_and_hidden_and_gone_at_the_end(tmp_path):
    with aside(tmp_path / "made") as one, aside(tmp_path / "made") as other:
        assert one != other
        assert names(one) == names(other) == []
        assert all(folder.name.startswith(".") and folder.parent == tmp_path for folder in (one, other))

    assert names(tmp_path) == []
