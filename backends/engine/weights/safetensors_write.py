"""Safetensors written as a stream: one tensor in memory at a time, however large the file."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backends.engine.weights.safetensors_files import KINDS
from backends.engine.weights.shapes import Shape

Arrays = Iterable[NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class Planned:
    """One tensor of the file to be: its name, the kind of its numbers, its shape."""

    name: str
    kind: str
    shape: Shape

    @property
    def bytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(KINDS[self.kind]).itemsize


def header(planned: Sequence[Planned]) -> bytes:
    """The file's beginning, padded with spaces to a multiple of 8, as the format asks."""
    described: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at = 0
    for tensor in planned:
        described[tensor.name] = {
            "dtype": tensor.kind,
            "shape": tensor.shape,
            "data_offsets": [at, at + tensor.bytes],
        }
        at += tensor.bytes
    text = json.dumps(described, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def write_safetensors(path: Path, planned: Sequence[Planned], arrays: Arrays, on_bytes: Callable[[int], None]) -> str:
    """Writes the tensors, which `arrays` gives in the planned order; returns the file's sha256. The disk has it all then.

    Raises OSError; ValueError when an array is not as planned.
    """
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for piece in _pieces(planned, arrays):
            file.write(piece)
            digest.update(piece)
            on_bytes(len(piece))
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _pieces(planned: Sequence[Planned], arrays: Arrays) -> Iterable[bytes]:
    yield header(planned)
    for tensor, array in zip(planned, arrays, strict=True):
        if array.shape != tensor.shape or array.dtype != np.dtype(KINDS[tensor.kind]):
            raise ValueError(f"{tensor.name} is {array.dtype} {array.shape}, planned was {tensor.kind} {tensor.shape}")
        yield array.tobytes()
