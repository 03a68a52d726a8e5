"""Logistic regression with a Gaussian prior: Newton's method that never goes uphill, so it ends at the one minimum.

A full step from far away overshoots: where chances are near 0 or 1 the curvature is next to nothing, and weights end in the
thousands with every chance at a bound.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS = 100
_HALVINGS = 40
_NEAR = 1e-9
_STEADY = 1e-9  # keeps the system solvable where nothing pulls and every chance is at a bound


def fit(rows: Floats, target: Floats, weight: Floats, start: Floats, pull: Floats) -> Floats:
    """The coefficients [columns] with the least weighted cross entropy of `target` (0..1) and sigmoid(rows · coefficients),
    plus pull / 2 · (coefficients - start)². Backtracking: Boyd and Vandenberghe, Convex Optimization, section 9.5."""
    problem, found = _Problem(rows, target, weight, start, pull), start
    for _ in range(_ROUNDS):
        step = problem.downhill(found)
        found = found + step
        if np.abs(step).max() < _NEAR:
            break
    return np.asarray(found, np.float64)


def sigmoid(logit: Floats) -> Floats:
    """1 / (1 + exp(-logit)), without overflow.

    >>> sigmoid(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    return np.asarray(np.exp(-np.logaddexp(0.0, -logit)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Problem:
    rows: Floats
    target: Floats
    weight: Floats
    start: Floats
    pull: Floats

    def downhill(self, at: Floats) -> Floats:
        """Newton's step, or the first half of a half of it that does not go uphill; zeros where rounding alone is left."""
        step, here = self._newton(at), self._loss(at)
        for _ in range(_HALVINGS):
            if self._loss(at + step) <= here:
                return step
            step = step / 2
        return np.zeros_like(step)

    def _newton(self, at: Floats) -> Floats:
        chance = sigmoid(self.rows @ at)
        slope = self.rows.T @ (self.weight * (chance - self.target)) + self.pull * (at - self.start)
        curvature = (self.rows.T * (self.weight * chance * (1 - chance))) @ self.rows
        return np.asarray(-np.linalg.solve(curvature + np.diag(self.pull + _STEADY), slope), np.float64)

    def _loss(self, at: Floats) -> float:
        logits = self.rows @ at
        entropy = self.weight @ (np.logaddexp(0.0, logits) - self.target * logits)
        return float(entropy + self.pull @ (at - self.start) ** 2 / 2)
