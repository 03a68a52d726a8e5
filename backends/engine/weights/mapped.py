"""A file that is mapped only while somebody looks at it, so that nothing of it stays in memory once it has been read."""

import mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backends.engine.weights.faults import WeightsError


class MappedFile:
    """Its bytes are those of the file that was there at the beginning; one that was changed or replaced since is refused."""

    def __init__(self, path: Path) -> None:
        """Raises WeightsError when there is no readable file."""
        self.path = path
        try:
            self._seen = _identity(path)
        except OSError as fault:
            raise WeightsError(f"{path.name}: cannot be read ({fault})") from fault

    @property
    def size(self) -> int:
        return self._seen[0]

    def view(self, start: int, size: int) -> NDArray[np.uint8]:
        """Bytes start..start+size, read-only, mapped for as long as the array lives. Raises WeightsError."""
        try:
            with self.path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            unchanged = _identity(self.path) == self._seen
        except (OSError, ValueError) as fault:
            raise WeightsError(f"{self.path.name}: cannot be read ({fault})") from fault
        if not unchanged:
            raise WeightsError(f"{self.path.name}: changed since it was opened; start again")
        return np.frombuffer(mapped, np.uint8, size, start)


def _identity(path: Path) -> tuple[int, int, int]:
    seen = path.stat()
    return seen.st_size, seen.st_mtime_ns, seen.st_ino
