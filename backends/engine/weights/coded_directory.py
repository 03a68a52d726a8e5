"""A directory that `turnout models quantise` wrote: integers that are taken as they are, and the float rest."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backends.engine.weights.codes import Codes
from backends.engine.weights.config import read_config, read_spec
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.finite import finite
from backends.engine.weights.forms import CODES, MINIMA, SCALES, Part, held_tensors, parts
from backends.engine.weights.names import own_name
from backends.engine.weights.safetensors_files import KINDS, SafetensorsFiles
from backends.engine.weights.shapes import Shape
from policies.catalogue import Precision


class CodedDirectory:
    """Implements `CodedSource`."""

    def __init__(self, path: Path, precision: Precision) -> None:
        """`precision` as config.json says it. Raises WeightsError when a tensor is missing, or of another kind or shape."""
        self.path, self.precision = path, precision
        self.files = SafetensorsFiles(path, KINDS)
        self.spec = read_spec(path, read_config(path), has_head=True)
        self._coded: dict[str, Shape] = {}
        for name, _, shape, form in held_tensors(self.spec, precision):
            for part in parts(form, shape):
                self._check(own_name(name) + part.suffix, part)
            if form in ("int8", "int4"):
                self._coded[name] = shape

    def tensor(self, name: str) -> NDArray[np.float32]:
        """Contiguous float32, of integers what they stand for. Raises KeyError, WeightsError."""
        if name in self._coded:
            return self.codes(name).dense()
        return finite(self.files.tensor(own_name(name)), name, self.path.name)

    def codes(self, name: str) -> Codes:
        """The integers of one matrix, read-only. Raises KeyError for a tensor that is none, WeightsError for scales or minima
        that are no finite numbers."""
        columns, own = self._coded[name][1], own_name(name)
        codes = Codes(
            columns,
            self.files.raw(own + CODES),  # type: ignore[arg-type]  # its kind was checked at the beginning
            self.files.raw(own + SCALES).astype(np.float16),
            self.files.raw(own + MINIMA).astype(np.float16) if own + MINIMA in self.files.entries else None,
        )
        if not codes.is_finite:
            raise WeightsError(f"{self.path.name}: the scales of {own} are not finite; quantise the weights again")
        return codes

    def kinds(self) -> set[str]:
        """What the files hold, in a word."""
        return {self.precision}

    def _check(self, own: str, part: Part) -> None:
        found = self.files.entries.get(own)
        if found is None:
            raise WeightsError(f"{self.path.name}: the tensor {own} is missing; quantise the weights again")
        if (found.kind, found.shape) != (part.kind, part.shape):
            raise WeightsError(
                f"{self.path.name}: the tensor {own} is {found.kind} {found.shape}; "
                f"{part.kind} {part.shape} was expected"
            )
