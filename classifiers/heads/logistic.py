"""Logistic regression on the sentence embedding beside the lexical features: the base head."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classifiers.heads.inputs import Floats, Inputs, Targets

_EMBEDDING_SCALE = 20.0  # unit vectors have entries near 1/20; this gives both kinds of feature a spread near 1
_CLIP = 4.0  # a text far longer or odder than any in training must not run off along one feature
_C = 0.003


@dataclass(frozen=True, slots=True)
class Logistic:
    """weights [2, width + features] on standardised columns, bias [2]; centre and spread [features] of the lexical ones."""

    weights: Floats
    bias: Floats
    centre: Floats
    spread: Floats

    def chances(self, inputs: Inputs) -> Floats:
        """P(good) by this head alone, [n, 2]."""
        return sigmoid(_columns(inputs, self.centre, self.spread) @ self.weights.T + self.bias)

    def tensors(self) -> dict[str, Floats]:
        """The arrays that `load` needs."""
        return {"weights": self.weights, "bias": self.bias, "centre": self.centre, "spread": self.spread}


def load(tensors: Mapping[str, NDArray[np.generic]]) -> Logistic:
    """The head that these tensors describe."""
    parts = (np.asarray(tensors[name], np.float64) for name in ("weights", "bias", "centre", "spread"))
    return Logistic(*parts)


def fit(inputs: Inputs, targets: Targets) -> Logistic:
    """A fraction q of quality counts as q of a good answer and 1 - q of a bad one."""
    from sklearn.linear_model import LogisticRegression

    centre, spread = inputs.lexical.mean(0, dtype=np.float64), inputs.lexical.std(0, dtype=np.float64) + 1e-3
    columns = _columns(inputs, centre, spread)
    answers = np.repeat([1, 0], len(inputs))
    weights, bias = [], []
    for quality in targets.quality.T:
        share = np.concatenate([quality * targets.weight, (1 - quality) * targets.weight])
        model = LogisticRegression(C=_C, max_iter=400).fit(np.vstack([columns, columns]), answers, sample_weight=share)
        weights.append(model.coef_[0])
        bias.append(model.intercept_[0])
    return Logistic(np.array(weights), np.array(bias), centre, spread)


def sigmoid(logit: Floats) -> Floats:
    """1 / (1 + exp(-logit)), without overflow.

    >>> sigmoid(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    return np.asarray(np.exp(-np.logaddexp(0.0, -logit)), dtype=np.float64)


def _columns(inputs: Inputs, centre: Floats, spread: Floats) -> Floats:
    lexical = np.clip((inputs.lexical - centre) / spread, -_CLIP, _CLIP)
    return np.hstack([inputs.vectors * _EMBEDDING_SCALE, lexical])
