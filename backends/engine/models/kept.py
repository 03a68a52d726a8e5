"""Agreeing sizes, measured once on a machine and kept for the next start: measuring is half of what a small model loads in.

Kept under all that they depend on: the machine, torch, its threads, the shapes of the model and its precision; never its
weights. What is kept is believed only after a glance (`Measuring.still_hold`), for a library may be told to behave otherwise.
"""

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import torch

from backends.engine.kernels.cpu import cpu_flags
from backends.engine.models.measured import Measuring, candidates
from backends.engine.models.plan import Sizes
from backends.engine.spec import ModelSpec
from policies.catalogue import Precision

MOST_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class KeptSizes:
    """One small file for each kind of model. A folder that cannot be read or written only means that all is measured."""

    folder: Path
    machine: str

    def of(self, spec: ModelSpec, precision: Precision, measuring: Measuring) -> Sizes:
        path = self.folder / f"agreement-{self._name(spec, precision)}.json"
        kept = _read(path)
        if kept is not None and measuring.still_hold(kept):
            return kept
        sizes = measuring.sizes()
        with suppress(OSError):
            _write(path, msgspec.json.encode(sizes))
        return sizes

    def _name(self, spec: ModelSpec, precision: Precision) -> str:
        shapes = (spec.hidden, spec.mlp, spec.heads, spec.kv_heads, spec.head_dim, spec.vocab_size, spec.tied_head)
        parts = [self.machine, candidates(), repr(shapes), precision]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def machine() -> str:
    """The processor, the libraries, and how many threads they have."""
    return "\n".join([torch.__version__, torch.__config__.show(), *sorted(cpu_flags()), str(torch.get_num_threads())])


def _read(path: Path) -> Sizes | None:
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(MOST_BYTES), type=Sizes)
    except (OSError, msgspec.MsgspecError):
        return None


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, fresh = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(fresh).replace(path)
