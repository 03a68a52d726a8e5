"""A directory beside its target to write into, so that the target is there whole or not at all.

It is locked while somebody writes, and a lock ends with its process, however that ends. One that nobody holds was left by a
kill, and whoever writes for the same target next removes it.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def aside(target: Path) -> Iterator[Path]:
    """An empty directory in the target's own, hidden, gone at the end. Raises OSError."""
    folder, lock = _locked(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def clear(target: Path) -> None:
    """Remove what killed writers for this target have left. What cannot be looked at stays."""
    with suppress(OSError):
        for entry in list(os.scandir(target.absolute().parent)):
            if entry.name.startswith(_prefix(target)) and entry.is_dir(follow_symlinks=False):
                _clear(Path(entry.path))


def _clear(folder: Path) -> None:
    """The lock is kept until all is gone, so nobody begins to write into it meanwhile."""
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        finally:
            os.close(lock)


def _locked(target: Path) -> tuple[Path, int]:
    """A new directory and the descriptor that holds its lock. Between the two somebody may have cleared it away."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.absolute().parent))
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # a file system without locks: then nobody clears there either
                fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock).st_nlink and folder.is_dir():
                return folder, lock
            os.close(lock)


def _prefix(target: Path) -> str:
    return f".{target.name}.turnout-"
