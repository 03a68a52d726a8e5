"""What every head reads of a turn, computed once for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classifiers.features.lexical import lexical_rows

PAIR = ("small", "large")
"""The models that outcomes of two are about, in this order."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Inputs:
    """`vectors` float32 [n, width], `lexical` float32 [n, features]."""

    vectors: NDArray[np.float32]
    lexical: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.vectors)

    def take(self, rows: NDArray[np.intp]) -> "Inputs":
        """The rows at these positions, in this order."""
        return Inputs(self.vectors[rows], self.lexical[rows])


@dataclass(frozen=True, slots=True)
class Targets:
    """What a head learns: `quality` float64 [n, models] in 0..1, one column per model; `weight` float64 [n]."""

    quality: Floats
    weight: Floats

    def take(self, rows: NDArray[np.intp]) -> "Targets":
        """The rows at these positions, in this order."""
        return Targets(self.quality[rows], self.weight[rows])


def read_inputs(texts: Sequence[str], vectors: NDArray[np.float32]) -> Inputs:
    """The inputs of these turns; `vectors` are their sentence embeddings, one row each."""
    return Inputs(vectors, lexical_rows(texts))
