"""Gaussian-process regression on the sentence embedding beside the lexical features: the head that works with few rows.

Far from what it has seen it falls back to the mean and, while outcomes are few, to "longer is harder".
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classifiers.features.lexical import NAMES
from classifiers.heads.contrasts import to_contrasts
from classifiers.heads.inputs import Floats, Inputs, Targets
from classifiers.heads.penalty import fit_ridge

_LANDMARKS = 1024
_CLIP = 4.0  # a text far longer or odder than any in training must not run off along one feature
_FLOOR = 1e-5  # directions of the landmarks that rounding alone tells apart
_LENGTH_PAYS = 1 / 3  # gain per spread of log length, as a part of the mean gain: what several benchmarks agree on
_FADES_AT = 1000.0  # with this many outcomes that assumption counts half
_LENGTH = NAMES.index("log_chars")

Columns = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Kernel:
    """sum over landmarks of weight · exp(-|x - landmark|²), plus bias, plus slope · length.

    `landmarks` float32 [m, width + features], exact in half precision; `weights` [m, models]; `bias`, `slope` [models];
    `centre`, `spread` [features] of the lexical columns.
    """

    landmarks: Columns
    weights: Floats
    bias: Floats
    slope: Floats
    centre: Floats
    spread: Floats

    def contrasts(self, inputs: Inputs) -> Floats:
        """Mean quality and gains, [n, models]; see contrasts.py."""
        lexical = _standard(inputs, self.centre, self.spread)
        near = _near(_columns(inputs, lexical), self.landmarks)
        return np.asarray(near @ self.weights + self.bias + _length(lexical)[:, None] * self.slope, np.float64)

    def likeness(self, vectors: Columns) -> Floats:
        """The cosine of each vector to that of the nearest landmark, [n]: how near the head has seen anything."""
        return np.asarray(_products(vectors, self.landmarks[:, : vectors.shape[1]]).max(axis=1), np.float64)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that `load` needs."""
        rest = {name: getattr(self, name) for name in ("weights", "bias", "slope", "centre", "spread")}
        return {"landmarks": self.landmarks.astype(np.float16), **rest}


def load(tensors: Mapping[str, NDArray[np.generic]]) -> Kernel:
    """The head that these tensors describe."""
    parts = (np.asarray(tensors[name], np.float64) for name in ("weights", "bias", "slope", "centre", "spread"))
    return Kernel(np.asarray(tensors["landmarks"], np.float32), *parts)


def fit(inputs: Inputs, targets: Targets) -> Kernel:
    """Nyström's approximation over at most 1024 of the rows (Williams and Seeger 2001), penalty by leaving one out."""
    centre, spread = inputs.lexical.mean(0, dtype=np.float64), inputs.lexical.std(0, dtype=np.float64) + 1e-3
    lexical = _standard(inputs, centre, spread)
    columns = _columns(inputs, lexical)
    landmarks = columns[_chosen(targets.weight)].astype(np.float16).astype(np.float32)
    whiten = _whiten(_near(landmarks, landmarks))
    goal = to_contrasts(targets.quality)
    slope = _assumed_slope(goal, targets.weight)
    rest = goal - _length(lexical)[:, None] * slope
    weights, bias = fit_ridge(_near(columns, landmarks) @ whiten, rest, targets.weight)
    return Kernel(landmarks, whiten @ weights, bias, slope, centre, spread)


def _chosen(weight: Floats) -> NDArray[np.intp]:
    """Which rows are landmarks: heavy ones rather, so that a few hundred of them are not lost among thousands."""
    share = None if np.ptp(weight) == 0 else weight / weight.sum()
    return np.random.default_rng(0).choice(len(weight), min(_LANDMARKS, len(weight)), replace=False, p=share)


def _assumed_slope(goal: Floats, weight: Floats) -> Floats:
    """Longer prompts gain more, until the outcomes say otherwise; of the mean quality nothing is assumed."""
    gain = np.maximum(np.average(goal, axis=0, weights=weight), 0.0)
    gain[0] = 0.0
    return gain * (_LENGTH_PAYS * _FADES_AT / (_FADES_AT + len(goal)))


def _standard(inputs: Inputs, centre: Floats, spread: Floats) -> Columns:
    return np.clip((inputs.lexical - centre) / spread, -_CLIP, _CLIP).astype(np.float32)


def _columns(inputs: Inputs, lexical: Columns) -> Columns:
    """Both kinds of columns with rows of length about 1."""
    return np.hstack([inputs.vectors, lexical / np.float32(np.sqrt(lexical.shape[1]))])


def _length(lexical: Columns) -> Floats:
    return np.clip(lexical[:, _LENGTH], -2.0, 2.0).astype(np.float64)


def _near(columns: Columns, landmarks: Columns) -> Floats:
    apart = _squares(columns)[:, None] + _squares(landmarks)[None, :] - 2 * _products(columns, landmarks)
    return np.asarray(np.exp(-np.maximum(apart, 0.0)), np.float64)


def _squares(rows: Columns) -> Columns:
    return np.asarray(np.einsum("ij,ij->i", rows, rows), np.float32)


def _products(columns: Columns, landmarks: Columns) -> Columns:
    """[n, m]. A lone row does without BLAS, whose threads spin for one another longer than the sum takes."""
    if len(columns) == 1:
        return np.asarray(np.einsum("ij,kj->ik", columns, landmarks), np.float32)
    return np.asarray(columns @ landmarks.T, np.float32)


def _whiten(near: Floats) -> Floats:
    """W with W Wᵀ = near⁻¹, tiny directions left out."""
    size, directions = np.linalg.eigh(near)
    keep = size > _FLOOR * size[-1]
    return np.asarray(directions[:, keep] / np.sqrt(size[keep]), np.float64)
