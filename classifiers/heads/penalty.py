"""Ridge regression whose penalty is chosen by leaving one row out, in closed form: one for each column of the goal."""

import numpy as np

from classifiers.heads.inputs import Floats

_PENALTIES = 10.0 ** np.arange(-1.5, 4.1, 0.5)
_MOST_LEVERAGE = 0.999


def fit_ridge(columns: Floats, goal: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weights [d, k] and bias [k] for a goal [n, k]. Leave-one-out residuals: Allen's PRESS, 1974."""
    share = weight / weight.sum()
    centre, mean = share @ columns, share @ goal
    root = np.sqrt(weight)[:, None]
    x, y = (columns - centre) * root, (goal - mean) * root
    size, directions = np.linalg.eigh(x.T @ x)
    turned = x @ directions
    fitted = turned.T @ y
    losses = [_press(turned, fitted, np.maximum(size, 0.0) + penalty, y, share) for penalty in _PENALTIES]
    best = _PENALTIES[np.argmin(losses, axis=0)]
    weights = directions @ (fitted / (np.maximum(size, 0.0)[:, None] + best))
    return np.asarray(weights, np.float64), np.asarray(mean - centre @ weights, np.float64)


def _press(turned: Floats, fitted: Floats, size: Floats, y: Floats, share: Floats) -> Floats:
    residual = y - turned @ (fitted / size[:, None])
    leverage = np.minimum((turned**2 / size).sum(1) + share, _MOST_LEVERAGE)
    return np.asarray(((residual / (1 - leverage)[:, None]) ** 2).sum(0), np.float64)
