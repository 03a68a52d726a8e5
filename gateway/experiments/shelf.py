"""Experiments on disk, and the orders that a person leaves beside them."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from gateway.experiments.chapter import Chapter
from gateway.folder import PRIVATE_FOLDER, Folder, replace


class Order(msgspec.Struct, frozen=True):
    """stop: everybody gets control; promote: everybody gets `variant`; ramp: it goes on by these weights. Of rollouts:
    approve: the next step; abort: everybody gets control; resume: it goes on, with new evidence. `at` in seconds since the
    epoch."""

    action: Literal["stop", "promote", "ramp", "approve", "abort", "resume"]
    variant: str
    at: float
    weights: Mapping[str, float] = {}


class Shelf(Folder[Chapter]):
    """The folder is made at once: orders may come before the gateway does."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, Chapter, lambda chapter: chapter.experiment.name)
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)

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
        replace(self.path(name, "order"), msgspec.json.encode(order))

    def taken_order(self, name: str) -> Order | None:
        """The order for this experiment, once."""
        path = self.path(name, "order")
        with suppress(OSError, msgspec.MsgspecError):
            found = msgspec.json.decode(path.read_bytes(), type=Order)
            path.unlink()
            return found
        return None
