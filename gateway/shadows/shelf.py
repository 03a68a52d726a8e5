"""What shadows have shown, on disk: a file for each, replaced whole."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from gateway.decisions.segments import lock
from gateway.experiments.shelf import PLAIN, PRIVATE_FOLDER, replace
from gateway.shadows.chapter import Chapter


class Shelf:
    """A folder of one gateway process, and of whoever reads it. Raises OSError where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None

    def claim(self) -> None:
        """Nobody else keeps shadows here from now on. Raises FolderTaken where somebody does."""
        self.folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        self._lock = lock(self.folder / "lock")

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def read(self, name: str) -> Chapter | None:
        """None where there is none, or none that is read here."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._path(name).read_bytes(), type=Chapter)
        return None

    def write(self, chapter: Chapter) -> None:
        """Whole or not at all. Raises OSError."""
        replace(self._path(chapter.name), msgspec.json.encode(chapter))

    def all(self) -> Mapping[str, Chapter]:
        """Every shadow that is kept here, by name."""
        found = [self.read(path.stem) for path in sorted(self.folder.glob("*.json"))]
        return {chapter.name: chapter for chapter in found if chapter is not None}

    def _path(self, name: str) -> Path:
        return self.folder / f"{PLAIN.sub('_', name)}.json"
