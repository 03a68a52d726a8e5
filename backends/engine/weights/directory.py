"""A Hugging Face directory as weights: config.json → spec, safetensors by canonical name."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backends.engine.weights.config import read_config, read_spec
from backends.engine.weights.finite import finite
from backends.engine.weights.names import canonical_name
from backends.engine.weights.safetensors_files import SafetensorsFiles
from backends.engine.weights.shapes import Shape, check_shapes


class Directory:
    """The directory's weights. `spec` is checked against the tensors that are there."""

    def __init__(self, path: Path) -> None:
        """Raises WeightsError; an architecture that is not supported is named before any weights are opened."""
        self.path = path
        config = read_config(path)
        self.files = SafetensorsFiles(path)
        self.places = {canonical: own for own in self.files.shapes() if (canonical := canonical_name(own))}
        self.spec = read_spec(path, config, "head" in self.places)
        check_shapes(self.spec, self.shapes(), path.name)

    def shapes(self) -> dict[str, Shape]:
        own = self.files.shapes()
        return {canonical: own[name] for canonical, name in self.places.items()}

    def tensor(self, name: str) -> NDArray[np.float32]:
        """The tensor as contiguous float32. Raises KeyError, WeightsError."""
        return finite(self.files.tensor(self.places[name]), name, self.path.name)

    def kinds(self) -> set[str]:
        """The kinds of numbers that the files hold."""
        return {entry.kind for entry in self.files.entries.values()}
