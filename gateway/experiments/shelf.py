"""Experiments on disk: a file for each, replaced whole, and the orders that a person leaves beside it."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from gateway.decisions.segments import lock
from gateway.experiments.chapter import Chapter

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700

PLAIN = re.compile(r"[^A-Za-z0-9._-]")


class Order(msgspec.Struct, frozen=True):
    """stop: everybody gets control; promote: everybody gets `variant`; ramp: it goes on by these weights. Of rollouts:
    approve: the next step; abort: everybody gets control; resume: it goes on, with new evidence. `at` in seconds since the
    epoch."""

    action: Literal["stop", "promote", "ramp", "approve", "abort", "resume"]
    variant: str
    at: float
    weights: Mapping[str, float] = {}


class Shelf:
    """A folder of one gateway process, and of whoever reads it. Raises OSError where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)

    def claim(self) -> None:
        """Nobody else keeps experiments here from now on. Raises FolderTaken where somebody does."""
        if self._lock is None:
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
        replace(self._path(chapter.experiment.name), msgspec.json.encode(chapter))

    def all(self) -> Mapping[str, Chapter]:
        """Every experiment that is kept here, by name."""
        found = [self.read(path.stem) for path in sorted(self.folder.glob("*.json"))]
        return {chapter.experiment.name: chapter for chapter in found if chapter is not None}

    def identity(self) -> str:
        """Who wrote what other gateways have of this one: the same after a restart, so that nothing counts twice."""
        path = self.folder / "gateway"
        with suppress(OSError):
            known = path.read_text(encoding="ascii").strip()
            if known:
                return known
        fresh = os.urandom(8).hex()
        replace(path, fresh.encode())
        return fresh

    def order(self, name: str, order: Order) -> None:
        """Raises OSError."""
        replace(self._order(name), msgspec.json.encode(order))

    def taken_order(self, name: str) -> Order | None:
        """The order for this experiment, once."""
        path = self._order(name)
        with suppress(OSError, msgspec.MsgspecError):
            found = msgspec.json.decode(path.read_bytes(), type=Order)
            path.unlink()
            return found
        return None

    def _path(self, name: str) -> Path:
        return self.folder / f"{PLAIN.sub('_', name)}.json"

    def _order(self, name: str) -> Path:
        return self.folder / f"{PLAIN.sub('_', name)}.order"


def replace(path: Path, data: bytes) -> None:
    """What stands there is the old or the new, whatever happens meanwhile."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    with os.fdopen(file, "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(path)
