"""Safetensors shards as one set of named tensors, mapped, and widened to float32 one at a time."""

import json
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from backends.engine.weights.faults import WeightsError
from backends.engine.weights.limits import JSON_BYTES
from backends.engine.weights.shapes import Shape

_WIDENED = {"F32", "F16", "BF16"}


class Slice(Protocol):
    """What safetensors tells of a tensor without reading it."""

    def get_dtype(self) -> str: ...

    def get_shape(self) -> list[int]: ...


class SafetensorsFiles:
    """Tensors by the files' own names. Opening checks every header; safetensors itself refuses lengths that lie."""

    def __init__(self, directory: Path) -> None:
        """Raises WeightsError: no weights, pickled weights, a missing shard, a damaged header."""
        self.paths = _shards(directory)
        self._shapes: dict[str, Shape] = {}
        self._home: dict[str, Path] = {}
        for path in self.paths:
            self._list(path)

    def shapes(self) -> dict[str, Shape]:
        return self._shapes

    def tensor(self, name: str) -> NDArray[np.float32]:
        """Contiguous float32. Raises KeyError."""
        with safe_open(self._home[name], framework="pt") as file:
            values: NDArray[np.float32] = file.get_tensor(name).float().numpy()
        return np.ascontiguousarray(values)

    def _list(self, path: Path) -> None:
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118  # not a mapping
                    self._note(path, name, file.get_slice(name))
        except (SafetensorError, OSError) as fault:
            raise WeightsError(f"{path.name}: damaged or cut short ({fault}); download it again") from fault

    def _note(self, path: Path, name: str, piece: Slice) -> None:
        if piece.get_dtype() not in _WIDENED:
            raise WeightsError(
                f"{path.name}: {name} is stored as {piece.get_dtype()}; {', '.join(sorted(_WIDENED))} are read"
            )
        self._shapes[name] = tuple(piece.get_shape())
        self._home[name] = path


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
