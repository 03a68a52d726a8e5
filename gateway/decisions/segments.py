"""Files of whole lines: one is written, the full ones are kept until their sum is too much, the oldest goes first.

A segment is written from its first byte by one process and never touched again by another. A line that could not be written
whole is taken back; only the end of a process or of its machine can leave one torn, as the last of its segment.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from gateway.folder import PRIVATE_FILE, PRIVATE_FOLDER, lock

SUFFIX = ".jsonl"

MOMENT = "%Y%m%dT%H%M%S.%f"


class Segments:
    """`segment_bytes` and `segment_s` end a segment; `total_bytes` bounds all of them, but for what is appended at once."""

    def __init__(
        self, folder: Path, *, segment_bytes: int, segment_s: float, total_bytes: int, now: Callable[[], float]
    ) -> None:
        """Raises OSError where the folder cannot be written, FolderTaken where somebody else does."""
        self.folder = folder
        self._segment_bytes, self._segment_s = segment_bytes, segment_s
        self._kept_bytes = max(0, total_bytes - segment_bytes)
        self._now = now
        self._file: int | None = None
        self._size = 0
        self._opened_at = 0.0
        self._count = 0
        self._unsynced = False
        self.since = 0.0
        """What was written before this instant is gone; 0 as long as nothing is."""
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        self._lock = lock(folder / "lock")

    @property
    def count(self) -> int:
        """Segments begun so far."""
        return self._count

    def begin(self, coming: int) -> None:
        """Make sure that a segment is open which has room for `coming` bytes. Raises OSError."""
        late = self._now() - self._opened_at >= self._segment_s
        if self._file is not None and self._size and (late or self._size + coming > self._segment_bytes):
            self._end()
        if self._file is None:
            self._open()

    def append(self, lines: bytes) -> None:
        """All of `lines` or nothing. Raises OSError."""
        self.begin(len(lines))
        assert self._file is not None
        try:
            write_all(self._file, lines)
        except OSError:
            self._take_back(self._file)
            raise
        self._size += len(lines)
        self._unsynced = True

    def sync(self) -> None:
        """What was appended survives the machine from here on. Raises OSError."""
        if self._file is not None and self._unsynced:
            os.fsync(self._file)
            self._unsynced = False

    def close(self) -> None:
        try:
            if self._file is not None:
                self._end()
        finally:
            os.close(self._lock)

    def _open(self) -> None:
        moment = datetime.fromtimestamp(self._now(), UTC)
        path = self.folder / f"{moment:{MOMENT}}-{self._count:06d}{SUFFIX}"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, PRIVATE_FILE)
        self._size, self._opened_at = 0, self._now()
        self._count += 1
        if drop_oldest(self.folder, self._kept_bytes, but=path):
            self.since = began_at(segments_in(self.folder)[0])

    def _end(self) -> None:
        """The file is closed whatever happens: a disk that does not sync must not keep us from the next one."""
        assert self._file is not None
        file, self._file = self._file, None
        try:
            if self._unsynced:
                os.fsync(file)
        finally:
            self._unsynced = False
            os.close(file)

    def _take_back(self, file: int) -> None:
        """Where even that fails, what is torn stays the last line of its segment."""
        try:
            os.ftruncate(file, self._size)
        except OSError:
            self._file = None
            os.close(file)


def write_all(file: int, data: bytes) -> None:
    """`os.write` may take a part only."""
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]


def segments_in(folder: Path) -> list[Path]:
    """Oldest first: their names begin with the instant at which they were begun."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def began_at(segment: Path) -> float:
    """Seconds since the epoch.

    >>> began_at(Path("19700101T000010.500000-000003.jsonl"))
    10.5
    """
    return datetime.strptime(segment.stem.partition("-")[0], MOMENT).replace(tzinfo=UTC).timestamp()


def drop_oldest(folder: Path, most_bytes: int, *, but: Path) -> int:
    """Until the others are no more than `most_bytes`; how many went."""
    old = [path for path in segments_in(folder) if path != but]
    sizes = [size_of(path) for path in old]
    total = sum(sizes)
    for gone, (path, size) in enumerate(zip(old, sizes, strict=True)):
        if total <= most_bytes:
            return gone
        with suppress(FileNotFoundError):
            path.unlink()
        total -= size
    return len(old)


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
