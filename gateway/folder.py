"""What outlives a process, on disk: a file for each value, by its name, replaced whole; one process at a time writes."""

import fcntl
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700

PLAIN = re.compile(r"[^A-Za-z0-9._-]")


class FolderTaken(OSError):
    """Another process writes into this folder."""


class Folder(Generic[T]):
    """A folder of one gateway process, and of whoever reads it. Raises OSError where it cannot be written."""

    def __init__(self, folder: Path, kind: type[T], name_of: Callable[[T], str]) -> None:
        self.folder = folder
        self._kind = kind
        self._name_of = name_of
        self._lock: int | None = None

    def claim(self) -> None:
        """Nobody else writes here from now on. Raises FolderTaken where somebody does."""
        if self._lock is None:
            self.folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._lock = lock(self.folder / "lock")

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def read(self, name: str) -> T | None:
        """None where there is none, or none that is read here."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self.path(name, "json").read_bytes(), type=self._kind)
        return None

    def write(self, value: T) -> None:
        """Whole or not at all. Raises OSError."""
        replace(self.path(self._name_of(value), "json"), msgspec.json.encode(value))

    def all(self) -> Mapping[str, T]:
        """Everything that is kept here, by name."""
        found = [self.read(path.stem) for path in sorted(self.folder.glob("*.json"))]
        return {self._name_of(value): value for value in found if value is not None}

    def path(self, name: str, kind: str) -> Path:
        return self.folder / f"{PLAIN.sub('_', name)}.{kind}"


def lock(path: Path) -> int:
    """Held until it is closed, or the process ends in whatever way."""
    held = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise FolderTaken(f"{path.parent} is written by another process; each needs a folder of its own") from None
    except OSError:
        os.close(held)
        raise
    return held


def replace(path: Path, data: bytes) -> None:
    """What stands there is the old or the new, whatever happens meanwhile."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    with os.fdopen(file, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(path)
