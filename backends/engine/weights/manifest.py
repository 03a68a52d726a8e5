"""sha256 of the files of a directory that `turnout models quantise` wrote. Checked whenever it is opened."""

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import msgspec

from backends.engine.weights.config import read_json
from backends.engine.weights.faults import WeightsError

MANIFEST = "sha256.json"
_PIECE = 4 << 20
_READ = (".json", ".jinja", ".safetensors")
"""Endings of the files that are read when weights are opened."""


class Manifest(msgspec.Struct, frozen=True):
    """Hex digests by file name, all beside it."""

    files: dict[str, str]


def sha256(path: Path, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Hex digest of a file, read in pieces; `on_bytes` hears of each piece's size."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            on_bytes(len(piece))
    return digest.hexdigest()


def write_manifest(directory: Path, files: Mapping[str, str]) -> None:
    (directory / MANIFEST).write_bytes(
        msgspec.json.format(msgspec.json.encode(Manifest(dict(files))), indent=2) + b"\n"
    )


def check_manifest(directory: Path) -> None:
    """Raises WeightsError for the first file that is missing, or was not there or not so when the directory was written."""
    try:
        listed = msgspec.convert(read_json(directory / MANIFEST).values, Manifest).files
    except (WeightsError, msgspec.ValidationError) as fault:
        raise WeightsError(f"{directory.name}: {MANIFEST}: {fault}; quantise the weights again") from fault
    for name, promised in listed.items():
        _check(directory, name, promised)
    _refuse_unlisted(directory, listed)


def _refuse_unlisted(directory: Path, listed: Collection[str]) -> None:
    """A file without a digest could say anything."""
    for path in sorted(directory.iterdir()):
        if path.suffix in _READ and path.name not in (*listed, MANIFEST):
            raise WeightsError(
                f"{directory.name}: {path.name} is not in {MANIFEST}; remove it, or quantise the weights again"
            )


def _check(directory: Path, name: str, promised: str) -> None:
    path = directory / name
    if Path(name).name != name or not path.is_file():
        raise WeightsError(f"{directory.name}: {name[:80]} is in {MANIFEST} but not here; quantise the weights again")
    if sha256(path) != promised:
        raise WeightsError(
            f"{directory.name}: {name} is not what it was when it was written (its sha256 differs); "
            "copy it again, or quantise the weights again"
        )
