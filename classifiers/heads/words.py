"""Ridge regression on hashed words and word pairs: knows kinds of questions by their vocabulary."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classifiers.heads.grams import BUCKETS, Grams
from classifiers.heads.inputs import Floats, Inputs, Targets

_PENALTY = 3.0


@dataclass(frozen=True, slots=True)
class Words:
    """weights float32 [2, BUCKETS], bias [2]."""

    weights: NDArray[np.float32]
    bias: Floats

    def chances(self, inputs: Inputs) -> Floats:
        """P(good) by this head alone, [n, 2]: the mean quality that the words predict, kept within 0..1."""
        return np.clip(_dot(inputs.grams, self.weights) + self.bias, 0.0, 1.0)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that `load` needs; half precision, since a bucket's weight is far from exact anyway."""
        return {"weights": self.weights.astype(np.float16), "bias": self.bias}


def load(tensors: Mapping[str, NDArray[np.generic]]) -> Words:
    """The head that these tensors describe."""
    return Words(np.asarray(tensors["weights"], np.float32), np.asarray(tensors["bias"], np.float64))


def fit(inputs: Inputs, targets: Targets) -> Words:
    """Least squares with a penalty on the squared weights."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import Ridge

    grams, sizes = inputs.grams, np.diff(inputs.grams.starts)
    values = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)
    rows = csr_matrix((values, grams.buckets, grams.starts), shape=(len(grams), BUCKETS))
    model = Ridge(alpha=_PENALTY, solver="sparse_cg", tol=1e-4)
    model.fit(rows, targets.quality, sample_weight=targets.weight)
    # Rounded once here, so that the head behaves alike before it is saved and after it is loaded.
    return Words(model.coef_.astype(np.float16).astype(np.float32), np.asarray(model.intercept_, np.float64))


def _dot(grams: Grams, weights: NDArray[np.float32]) -> Floats:
    sums = np.concatenate([np.zeros((2, 1)), np.cumsum(weights[:, grams.buckets], axis=1, dtype=np.float64)], axis=1)
    sizes = np.maximum(np.diff(grams.starts), 1)
    return np.asarray((sums[:, grams.starts[1:]] - sums[:, grams.starts[:-1]]) / np.sqrt(sizes), np.float64).T
