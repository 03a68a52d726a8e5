"""Weights in fewer bits as a directory of their own, in the shape of Hugging Face's, from any weights that open."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from backends.engine.spec import TensorSource
from backends.engine.store.aside import aside, clear
from backends.engine.store.carried import carried_files
from backends.engine.store.pull import Progress
from backends.engine.weights.coded_directory import CodedDirectory
from backends.engine.weights.codes import bfloat16_bits, from_bfloat16, to_int4, to_int8
from backends.engine.weights.directory import Directory
from backends.engine.weights.forms import held_tensors, parts
from backends.engine.weights.gguf_file import GgufFile
from backends.engine.weights.manifest import sha256, write_manifest
from backends.engine.weights.names import own_name
from backends.engine.weights.opening import OpenedWeights, open_weights
from backends.engine.weights.safetensors_write import Planned, write_safetensors
from policies.catalogue import Precision

StoredPrecision = Literal["bfloat16", "int8", "int4"]
SHARD_BYTES: Final = 4 << 30
_MARGIN: Final = 64 << 20
"""Bytes of disk to leave free, for tokenizers and headers too."""


class QuantiseFailed(Exception):
    """Nothing was written; the message says why and what to do."""


class Quantised(msgspec.Struct, frozen=True):
    """What was written. `source_kinds`: the kinds of numbers that it was made from."""

    path: Path
    bytes: int
    source_kinds: tuple[str, ...]


class _Tensor(msgspec.Struct, frozen=True):
    """One tensor of the model: the source's name, its form, and the tensors of the file that it becomes."""

    source: str
    form: Precision
    planned: tuple[Planned, ...]

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.planned)


def quantise(
    source: Path,
    precision: StoredPrecision,
    out: Path,
    progress: Progress,
    *,
    shard_bytes: int = SHARD_BYTES,
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
) -> Quantised:
    """Write `out`, whole or not at all: a model opened from there computes the same bits as one rounded from `source`.

    What a killed run has left beside it is removed. Raises QuantiseFailed, WeightsError when `source` does not open.
    """
    clear(out)
    if os.path.lexists(out):
        raise QuantiseFailed(f"{out} is there already: name another directory, or remove it first")
    opened = open_weights(source)
    kinds = _plain(opened.source, source).kinds()
    tensors = _planned(opened, precision)
    _check_space(out.absolute().parent, sum(tensor.bytes for tensor in tensors), free_bytes)
    try:
        with aside(out) as folder:
            fresh = folder / out.name
            progress.start(f"writing {precision}", sum(tensor.bytes for tensor in tensors))
            _write(opened, _shards(tensors, shard_bytes), precision, fresh, progress)
            _read_back(opened, fresh)
            os.rename(fresh, out)
    except OSError as fault:
        raise QuantiseFailed(f"{out} cannot be written: {fault}") from fault
    size = sum(file.stat().st_size for file in out.iterdir())
    return Quantised(out, size, tuple(sorted(kinds)))


def _plain(found: TensorSource, path: Path) -> GgufFile | Directory:
    if isinstance(found, CodedDirectory):
        raise QuantiseFailed(
            f"{path} holds {found.precision} already, and what that lost does not come back: "
            "name the weights that it was made from"
        )
    assert isinstance(found, GgufFile | Directory)
    return found


def _planned(opened: OpenedWeights, precision: Precision) -> list[_Tensor]:
    return [
        _Tensor(
            source, form, tuple(Planned(own_name(name) + p.suffix, p.kind, p.shape) for p in parts(form, shape))
        )
        for name, source, shape, form in held_tensors(opened.spec, precision)
    ]  # fmt: skip


def _check_space(parent: Path, needed: int, free_bytes: Callable[[Path], int]) -> None:
    if not parent.is_dir():
        raise QuantiseFailed(f"{parent} is no directory: make it first")
    free = free_bytes(parent)
    if free < needed + _MARGIN:
        raise QuantiseFailed(
            f"{needed / 1e6:,.0f} MB are needed in {parent} and {_MARGIN / 1e6:.0f} MB to spare, "
            f"but {free / 1e6:,.0f} MB are free"
        )


def _write(
    opened: OpenedWeights, shards: Sequence[Sequence[_Tensor]], precision: Precision, into: Path, progress: Progress
) -> None:
    into.mkdir()
    digests = _write_shards(opened.source, shards, into, progress)
    for name, content in carried_files(_plain(opened.source, into), opened.spec, precision).items():
        (into / name).write_bytes(content)
        digests[name] = sha256(into / name)
    write_manifest(into, digests)


def _shards(tensors: Sequence[_Tensor], most: int) -> list[list[_Tensor]]:
    """In order, none above `most` bytes unless one tensor alone is."""
    shards: list[list[_Tensor]] = [[]]
    size = 0
    for tensor in tensors:
        if shards[-1] and size + tensor.bytes > most:
            shards.append([])
            size = 0
        shards[-1].append(tensor)
        size += tensor.bytes
    return shards


def _write_shards(
    source: TensorSource, shards: Sequence[Sequence[_Tensor]], into: Path, progress: Progress
) -> dict[str, str]:
    """Digests by file name, the index of several shards included."""
    names = [_shard_name(number, len(shards)) for number in range(1, len(shards) + 1)]
    digests = {
        name: write_safetensors(
            into / name, [part for tensor in shard for part in tensor.planned], _arrays(source, shard), progress.advance
        )
        for name, shard in zip(names, shards, strict=True)
    }
    if len(shards) > 1:
        index = into / "model.safetensors.index.json"
        index.write_text(_index(names, shards))
        digests[index.name] = sha256(index)
    return digests


def _shard_name(number: int, count: int) -> str:
    return "model.safetensors" if count == 1 else f"model-{number:05}-of-{count:05}.safetensors"


def _index(names: Sequence[str], shards: Sequence[Sequence[_Tensor]]) -> str:
    homes = {
        p.name: name for name, shard in zip(names, shards, strict=True) for tensor in shard for p in tensor.planned
    }
    total = sum(tensor.bytes for shard in shards for tensor in shard)
    return json.dumps({"metadata": {"total_size": total}, "weight_map": homes}, indent=1)


def _arrays(source: TensorSource, tensors: Sequence[_Tensor]) -> Iterator[NDArray[np.generic]]:
    for tensor in tensors:
        arrays = _rounded(source.tensor(tensor.source), tensor.form)
        if arrays is None:
            raise QuantiseFailed(f"{tensor.source} holds numbers that are too large for {tensor.form}")
        yield from arrays


def _rounded(values: NDArray[np.float32], form: Precision) -> tuple[NDArray[np.generic], ...] | None:
    """None where what comes out would not be finite."""
    if form == "float32":
        return (values,)
    if form == "bfloat16":
        bits = bfloat16_bits(values)
        return (bits,) if np.isfinite(from_bfloat16(bits)).all() else None
    with np.errstate(over="ignore", invalid="ignore"):
        codes = (to_int8 if form == "int8" else to_int4)(values)
    minima = () if codes.minima is None else (codes.minima,)
    return (codes.values, codes.scales, *minima) if codes.is_finite else None


def _read_back(opened: OpenedWeights, fresh: Path) -> None:
    """Raises QuantiseFailed when the files do not say what the source says."""
    again = open_weights(fresh)
    same = replace(again.spec, family=opened.spec.family) == opened.spec
    odd = again.tokenizer.differs_from(opened.tokenizer) or (None if same else "its config would say other numbers")
    if odd:
        raise QuantiseFailed(f"a directory cannot say all that these weights are: {odd}")
