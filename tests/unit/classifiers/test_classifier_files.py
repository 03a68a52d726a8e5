"""Files that are written whole: what was there stays, or what is new stands there, and nothing beside it."""

import os
from pathlib import Path, PosixPath

import pytest

from classifiers.files import write_whole


class Stopped(PosixPath):
    """A path at which Ctrl-C is pressed as soon as something was put there."""

    def replace(self, target: Path) -> Path:
        super().replace(target)
        raise KeyboardInterrupt


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_all_of_them_are_written_and_folders_are_made(tmp_path: Path):
    write_whole({tmp_path / "new" / "größe": b"one", tmp_path / "new" / "b": b"two"})

    assert (tmp_path / "new" / "größe").read_bytes() == b"one"
    assert names(tmp_path / "new") == {"größe", "b"}


def test_where_one_cannot_be_written_all_stay_as_they_were(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "b").mkdir()

    with pytest.raises(IsADirectoryError, match=r"/b"):
        write_whole({tmp_path / "a": b"new", tmp_path / "b": b"new"})

    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == {"a", "b"}


def test_a_ctrl_c_between_two_that_belong_together_lets_the_second_follow(tmp_path: Path):
    one, two = Stopped(tmp_path / "a"), tmp_path / "b"
    two.write_bytes(b"old")

    with pytest.raises(KeyboardInterrupt):
        write_whole({one: b"new", two: b"new"})

    assert [path.read_bytes() for path in (one, two)] == [b"new", b"new"]
    assert names(tmp_path) == {"a", "b"}


def test_a_link_stays_one_and_what_it_names_is_new(tmp_path: Path):
    link, versioned = tmp_path / "weights.json", tmp_path / "v2" / "weights.json"
    versioned.parent.mkdir()
    versioned.write_bytes(b"old")
    link.symlink_to(versioned)

    write_whole({link: b"new"})

    assert link.is_symlink()
    assert versioned.read_bytes() == b"new"
    assert names(versioned.parent) == {"weights.json"}


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)  # keeps it open, so that no side waits for the other

    write_whole({pipe: b"new", tmp_path / "beside": b"too"})

    assert pipe.is_fifo()
    assert os.read(end, 16) == b"new"
    os.close(end)
    assert (tmp_path / "beside").read_bytes() == b"too"
