"""The policies beside a log, one file for each hash: what its decisions were made by."""

import os
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

import msgspec

from gateway.decisions.segments import began_at, segments_in
from gateway.folder import PRIVATE_FOLDER, replace
from policies.language.kept import Kept, restored
from policies.policy import Policy

FOLDER = "policies"

REMEMBERED = 64
"""Policies that requests under way may still have been decided by; each reload adds one."""

SLACK_S = 1.0
"""File systems keep time more coarsely than the clock."""


class Shelf:
    """Writes a policy before the first decision by it, and once in each segment makes it as young as that segment, so that
    who is older than the oldest segment is needed by nobody."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._known: OrderedDict[str, Kept] = OrderedDict()
        self._fresh: set[str] = set()
        self._segment = 0

    def learn(self, digest: str, kept: Kept) -> None:
        self._known[digest] = kept
        self._known.move_to_end(digest)
        self._fresh.discard(digest)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def need(self, digest: str, segment: int) -> None:
        """`segment` counts the segments of this process. Raises OSError."""
        if segment != self._segment:
            self._segment = segment
            self._fresh.clear()
            self._clear_out()
        if digest not in self._fresh and digest in self._known:
            self._place(digest, self._known[digest])
            self._fresh.add(digest)

    def _place(self, digest: str, kept: Kept) -> None:
        """Whole or not at all, whatever happens meanwhile."""
        path = path_of(self._folder, digest)
        with suppress(FileNotFoundError):
            return os.utime(path)
        self._folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        replace(path, msgspec.json.encode(kept))

    def _clear_out(self) -> None:
        """Whatever a segment needs was touched after that segment was begun."""
        for path in self._folder.glob("*.json"):
            if path.stat().st_mtime < began_at(segments_in(self._folder.parent)[0]) - SLACK_S:
                path.unlink(missing_ok=True)


def path_of(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.json"


def policy_on(log: Path, digest: str) -> Policy:
    """The policy of this hash beside a log. Raises FileNotFoundError, and ValueError where it is not one that is read here."""
    return restored(msgspec.json.decode(path_of(log / FOLDER, digest).read_bytes(), type=Kept), digest)
