"""A short name for exactly these weights, for prefix digests and reports.

Reading gigabytes at each start to name them would cost more than loading; so the digest covers each file's name and size
and 64 windows of 4 KiB spread evenly over it, ends included: two trainings of one architecture differ in nearly every
window. It tells weights apart; whether a download arrived whole is checked where it is fetched.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

_WINDOWS, _WINDOW = 64, 4096


def revision_of(paths: Iterable[Path]) -> str:
    """32 hexadecimal digits of a BLAKE2b over the files, in the order of their names."""
    digest = hashlib.blake2b(digest_size=16, person=b"turnout-weights")
    for path in sorted(paths, key=lambda path: path.name):
        _add(digest, path)
    return digest.hexdigest()


def _add(digest: "hashlib.blake2b", path: Path) -> None:
    size = path.stat().st_size
    name = path.name.encode()
    digest.update(len(name).to_bytes(8, "little") + name + size.to_bytes(8, "little"))
    with path.open("rb") as file:
        for window in range(_WINDOWS):
            file.seek(max(0, size - _WINDOW) * window // (_WINDOWS - 1))
            digest.update(file.read(_WINDOW))
