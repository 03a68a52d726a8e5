"""Safetensors shards as one set of named tensors, mapped while they are read."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray
from safetensors import SafetensorError, safe_open

from backends.engine.weights.codes import from_bfloat16
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.limits import JSON_BYTES
from backends.engine.weights.mapped import MappedFile
from backends.engine.weights.shapes import Shape

KINDS: Final[dict[str, DTypeLike]] = {
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,
    "I8": np.int8,
    "U8": np.uint8,
}
"""How each kind of number lies in memory."""

FLOATS = frozenset({"F32", "F16", "BF16"})


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor: the kind of its numbers, its shape, and where it begins in which file."""

    kind: str
    shape: Shape
    file: MappedFile
    start: int


class SafetensorsFiles:
    """Tensors by the files' own names, of the given kinds. Opening checks every header; nothing stays mapped."""

    def __init__(self, directory: Path, kinds: Collection[str] = FLOATS) -> None:
        """Raises WeightsError: no weights, pickled weights, a missing shard, a damaged header, another kind of numbers."""
        self.paths = _shards(directory)
        self.entries = {name: entry for path in self.paths for name, entry in _listed(path).items()}
        for name, entry in self.entries.items():
            if entry.kind not in kinds:
                raise WeightsError(
                    f"{entry.file.path.name}: {name} is stored as {entry.kind}; {', '.join(sorted(kinds))} are read"
                )

    def shapes(self) -> dict[str, Shape]:
        return {name: entry.shape for name, entry in self.entries.items()}

    def raw(self, name: str) -> NDArray[np.generic]:
        """The numbers as they are stored (bfloat16 as its bits), read-only. Raises KeyError, WeightsError."""
        entry = self.entries[name]
        kind = np.dtype(KINDS[entry.kind])
        size = int(np.prod(entry.shape, dtype=np.int64)) * kind.itemsize
        return entry.file.view(entry.start, size).view(kind).reshape(entry.shape)

    def tensor(self, name: str) -> NDArray[np.float32]:
        """The numbers of a float kind as contiguous float32. Raises KeyError, WeightsError."""
        found = self.raw(name)
        if self.entries[name].kind == "BF16":
            return from_bfloat16(found.view(np.uint16))
        return np.array(found, np.float32, order="C")


def _listed(path: Path) -> dict[str, Stored]:
    """Safetensors itself refuses lengths and offsets that lie; then the header can be believed."""
    try:
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, OSError) as fault:
        raise WeightsError(f"{path.name}: damaged or cut short ({fault}); download it again") from fault
    file = MappedFile(path)
    length = int.from_bytes(file.view(0, 8).tobytes(), "little")
    described = json.loads(file.view(8, length).tobytes())
    return {
        name: Stored(told["dtype"], tuple(told["shape"]), file, 8 + length + told["data_offsets"][0])
        for name, told in described.items()
        if name != "__metadata__"
    }


def _shards(directory: Path) -> list[Path]:
    index = directory / "model.safetensors.index.json"
    if index.is_file():
        return _indexed(index)
    if (single := directory / "model.safetensors").is_file():
        return [single]
    if found := sorted(directory.glob("*.bin")):
        raise WeightsError(
            f"{found[0].name}: pickled weights are not opened, since a pickle can run code; convert to safetensors"
        )
    raise WeightsError(
        f"{directory.name}: no model.safetensors, no model.safetensors.index.json and no .gguf file here"
    )


def _indexed(index: Path) -> list[Path]:
    names = sorted({str(name) for name in _weight_map(index).values()})
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise WeightsError(f"{index.name}: {name!r} is no safetensors file beside it")
        if not (index.parent / name).is_file():
            raise WeightsError(f"{index.name}: its shard {name} is missing; is the download complete?")
    return [index.parent / name for name in names]


def _weight_map(index: Path) -> dict[str, object]:
    if index.stat().st_size > JSON_BYTES:
        raise WeightsError(f"{index.name}: larger than {JSON_BYTES >> 20} MiB")
    try:
        found = json.loads(index.read_bytes())["weight_map"]
    except (ValueError, KeyError, TypeError, RecursionError) as fault:
        raise WeightsError(f"{index.name}: no readable weight_map ({fault!r})") from fault
    if not isinstance(found, dict) or not found:
        raise WeightsError(f"{index.name}: its weight_map is empty")
    return found
