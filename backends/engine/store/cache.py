"""The cache directory: where a name's weights stand and what is known of their bytes.

Layout: `<cache>/models/<folder>/` holds the files and `weights.json`, which is written last, so that a folder
without it is an unfinished pull. Directories and files of one's own are used where they are.
"""

import os
from pathlib import Path

import msgspec

from backends.engine.store.builtin import BUILTIN

RECORD = "weights.json"
NO_WEIGHTS = "is not a .gguf file and holds no *.safetensors and no *.gguf; pickled weights (*.bin) are not read"


class WeightsMissing(Exception):
    """The name has no weights here; the message says what to do."""


class Record(msgspec.Struct, frozen=True):
    """What was pulled: `load` is the path to open, relative to the folder; `files` maps each to its sha256."""

    name: str
    load: str
    files: dict[str, str]
    bytes: int


class Entry(msgspec.Struct, frozen=True):
    """One line of `turnout models list`. `state` is "pulled", "installed" or "not pulled"; `bytes` its size."""

    name: str
    state: str
    bytes: int
    path: str
    about: str = ""


def folder_of(name: str, cache_dir: Path) -> Path:
    """Where weights of this name are kept. Slashes of hub names become `--`, so a name never leaves the cache."""
    safe = "".join(c if c.isalnum() or c in "._-" else "--" if c == "/" else "_" for c in name).strip(".")
    return cache_dir / "models" / (safe or "unnamed")


def read_record(folder: Path) -> Record | None:
    """The record of a finished pull, or None when there is none, or its files are gone."""
    try:
        record = msgspec.json.decode((folder / RECORD).read_bytes(), type=Record)
    except (OSError, msgspec.DecodeError):
        return None
    return record if all((folder / file).is_file() for file in record.files) else None


def write_record(folder: Path, record: Record) -> None:
    (folder / RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2))


def holds_weights(path: Path) -> bool:
    """Whether a path of one's own is a GGUF file, or a directory with weights in it."""
    if path.is_file():
        return path.suffix == ".gguf"
    return any(any(path.glob(pattern)) for pattern in ("*.safetensors", "*.gguf"))


def resolve(name: str, cache_dir: Path) -> Path:
    """The directory or file to load for `name`: a path of one's own, a finished pull, or an installed package.

    Raises WeightsMissing with the line that fetches them.
    """
    own = Path(name).expanduser()
    if os.path.exists(own):  # unlike Path.exists, False for a name that no disk takes
        if not holds_weights(own):
            raise WeightsMissing(f"{own} {NO_WEIGHTS}")
        return own
    folder = folder_of(name, cache_dir)
    if record := read_record(folder):
        return folder / record.load
    if (builtin := BUILTIN.get(name)) and (path := builtin.installed()):
        return path
    raise WeightsMissing(f"no weights for {name!r} on this machine: run `turnout models pull {name}`")


def listing(cache_dir: Path) -> list[Entry]:
    """Built-in names with their state, then everything else that was pulled."""
    entries = [_builtin_entry(name, cache_dir) for name in sorted(BUILTIN)]
    for file in sorted((cache_dir / "models").glob(f"*/{RECORD}")):
        record = read_record(file.parent)
        if record and record.name not in BUILTIN:
            entries.append(Entry(record.name, "pulled", record.bytes, str(file.parent)))
    return entries


def _builtin_entry(name: str, cache_dir: Path) -> Entry:
    weights, folder = BUILTIN[name], folder_of(name, cache_dir)
    if record := read_record(folder):
        return Entry(name, "pulled", record.bytes, str(folder), weights.about)
    if path := weights.installed():
        return Entry(name, "installed", weights.size, str(path), weights.about)
    return Entry(name, "not pulled", weights.size, "", weights.about)
