"""What an outcome was to be expected to be, from what came before it: a running regression on what is known before assignment.

Outcomes less this have less variance; the mean that is compared stays what it is, whatever the regression says (CUPED, as
augmented inverse-propensity scores). Old outcomes are forgotten, so that it follows a drift.
"""

from collections.abc import Sequence

import msgspec

MEMORY = 1_000.0
"""Outcomes that the running means remember."""

SHRINK = 10.0
"""Outcomes' worth of doubt whether a covariate says anything."""


class Baseline(msgspec.Struct, frozen=True):
    """Running means and covariances. `slopes` belong to `centre`."""

    count: int = 0
    mean: float = 0.0
    centre: tuple[float, ...] = ()
    spread: tuple[tuple[float, ...], ...] = ()
    together: tuple[float, ...] = ()


def expected(baseline: Baseline, covariates: Sequence[float]) -> float:
    """
    >>> line = Baseline()
    >>> for x in range(200):
    ...     line = learn(line, 3.0 + 2.0 * (x % 7), (float(x % 7),))
    >>> round(expected(line, (5.0,)), 1)
    12.8
    """
    if not covariates or baseline.count <= len(covariates):
        return baseline.mean
    doubt = 1 + SHRINK / baseline.count
    matrix = [
        [cell * doubt + 1e-12 if i == j else cell for j, cell in enumerate(row)]
        for i, row in enumerate(baseline.spread)
    ]
    slopes = solve(matrix, list(baseline.together))
    gaps = [x - centre for x, centre in zip(covariates, baseline.centre, strict=True)]
    return baseline.mean + sum(slope * gap for slope, gap in zip(slopes, gaps, strict=True))


def learn(baseline: Baseline, outcome: float, covariates: Sequence[float]) -> Baseline:
    """After one more outcome."""
    step = 1 / min(baseline.count + 1, MEMORY)
    gap = outcome - baseline.mean
    size = len(covariates)
    centre = baseline.centre or (0.0,) * size
    spread = baseline.spread or ((0.0,) * size,) * size
    together = baseline.together or (0.0,) * size
    gaps = [x - c for x, c in zip(covariates, centre, strict=True)]
    keep = 1 - step
    return Baseline(
        baseline.count + 1,
        baseline.mean + step * gap,
        tuple([c + step * g for c, g in zip(centre, gaps, strict=True)]),
        tuple(
            [
                tuple([keep * (cell + step * gaps[i] * gaps[j]) for j, cell in enumerate(row)])
                for i, row in enumerate(spread)
            ]
        ),
        tuple([keep * (cell + step * g * gap) for cell, g in zip(together, gaps, strict=True)]),
    )


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """A small positive definite system, by elimination.

    >>> solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    [1.0, 0.5]
    """
    size = len(right)
    for k in range(size):
        for i in range(k + 1, size):
            factor = matrix[i][k] / matrix[k][k]
            matrix[i] = [a - factor * b for a, b in zip(matrix[i], matrix[k], strict=True)]
            right[i] -= factor * right[k]
    found = [0.0] * size
    for i in reversed(range(size)):
        left = right[i] - sum(matrix[i][j] * found[j] for j in range(i + 1, size))
        found[i] = left / matrix[i][i]
    return found
