"""Qualities as their mean and their differences: what a head learns, since routing lives on the difference.

A hard question often defeats every model; what pays is the gain of one over another, which is noisier than the mean and
so wants a penalty of its own.
"""

import numpy as np

from classifiers.heads.inputs import Floats


def to_contrasts(quality: Floats) -> Floats:
    """[n, models] → [n, models]: the mean, then each model's difference from the one before it.

    >>> to_contrasts(np.array([[0.0, 1.0]])).tolist()
    [[0.5, 1.0]]
    """
    return np.hstack([quality.mean(axis=1, keepdims=True), np.diff(quality, axis=1)])


def from_contrasts(contrasts: Floats) -> Floats:
    """The inverse of `to_contrasts`.

    >>> from_contrasts(np.array([[0.5, 1.0]])).tolist()
    [[0.0, 1.0]]
    """
    steps = np.cumsum(np.hstack([np.zeros((len(contrasts), 1)), contrasts[:, 1:]]), axis=1)
    return np.asarray(steps - steps.mean(axis=1, keepdims=True) + contrasts[:, :1], np.float64)
