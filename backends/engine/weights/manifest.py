"""sha256 of the files of a directory that `turnout models quantise` wrote. Checked whenever it is opened."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from backends.engine.weights.faults import WeightsError

MANIFEST = "sha256.json"
_PIECE = 4 << 20


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
    """Raises WeightsError for the first file that is missing or not what it was when it was written."""
    try:
        listed = msgspec.json.decode((directory / MANIFEST).read_bytes(), type=Manifest).files
    except FileNotFoundError as fault:
        raise WeightsError(f"{directory.name}: {MANIFEST} is missing; quantise the weights again") from fault
    except (OSError, msgspec.DecodeError) as fault:
        raise WeightsError(
            f"{directory.name}: {MANIFEST} is not readable ({fault}); quantise the weights again"
        ) from fault
    for name, promised in listed.items():
        _check(directory, name, promised)


def _check(directory: Path, name: str, promised: str) -> None:
    path = directory / name
    if Path(name).name != name or not path.is_file():
        raise WeightsError(f"{directory.name}: {name[:80]} is in {MANIFEST} but not here; quantise the weights again")
    if sha256(path) != promised:
        raise WeightsError(
            f"{directory.name}: {name} is not what it was when it was written (its sha256 differs); "
            "copy it again, or quantise the weights again"
        )
