"""A logistic regression for each model, on the columns that the kernel reads: the head that is hardly wrong where rows are few.

What the kernel bends it can't, and so it errs otherwise: their mean is better than either.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classifiers.heads import logistic
from classifiers.heads.contrasts import to_contrasts
from classifiers.heads.inputs import Floats, Inputs, Targets
from classifiers.heads.kernel import columns_of, standard

_VARIANCE = 0.3
"""Of the Gaussian that holds weights back; from 0.1 to 0.3 is what cross-validation chose on MMLU and GSM8K."""


@dataclass(frozen=True, slots=True)
class Chances:
    """sigmoid(columns · weights + bias): `weights` [width + features, models], `bias` [models]; `centre`, `spread`
    [features] of the lexical columns."""

    weights: Floats
    bias: Floats
    centre: Floats
    spread: Floats

    def contrasts(self, inputs: Inputs) -> Floats:
        """Mean quality and gains, [n, models]; see contrasts.py."""
        columns = columns_of(inputs, standard(inputs, self.centre, self.spread))
        return to_contrasts(logistic.sigmoid(np.einsum("ij,jk->ik", columns, self.weights) + self.bias))

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that `load` needs."""
        return {name: getattr(self, name) for name in ("weights", "bias", "centre", "spread")}


def load(tensors: Mapping[str, NDArray[np.generic]]) -> Chances:
    """The head that these tensors describe."""
    return Chances(*(np.asarray(tensors[name], np.float64) for name in ("weights", "bias", "centre", "spread")))


def fit(inputs: Inputs, targets: Targets) -> Chances:
    """Rows weigh 1 on average, so that heavy ones do not free the weights."""
    centre, spread = inputs.lexical.mean(0, dtype=np.float64), inputs.lexical.std(0, dtype=np.float64) + 1e-3
    columns = columns_of(inputs, standard(inputs, centre, spread)).astype(np.float64)
    rows, weight = np.column_stack([columns, np.ones(len(columns))]), targets.weight / targets.weight.mean()
    pull = np.full(rows.shape[1], 1 / _VARIANCE)
    pull[-1] = 0.0
    start = np.zeros(rows.shape[1])
    found = np.stack([logistic.fit(rows, quality, weight, start, pull) for quality in targets.quality.T], axis=1)
    return Chances(found[:-1], found[-1], centre, spread)
