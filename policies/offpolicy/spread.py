"""How sure a mean of units is: how many they are worth, and quantiles of Student's t."""

from collections.abc import Sequence
from math import expm1, pi, sqrt
from statistics import NormalDist

AMPLE = 2_000.0
"""Degrees of freedom from which on the normal distribution serves."""


def worth(weights: Sequence[float]) -> float:
    """How many equal weights say as much (Kish 1965).

    >>> worth([1.0, 1.0, 1.0, 0.0])
    3.0
    """
    total = sum([weight * weight for weight in weights])
    return sum(weights) ** 2 / total if total else 0.0


def heavy(weights: Sequence[float]) -> float:
    """The weight of the units that variance comes from: the mean weight, each by its square.

    >>> heavy([1.0, 1.0, 10.0])
    9.823529411764707
    """
    return sum([weight**3 for weight in weights]) / sum([weight**2 for weight in weights])


def freedom(weights: Sequence[float]) -> float:
    """Degrees of freedom of a variance whose parts weigh so (Satterthwaite 1946).

    >>> freedom([1.0] * 10)
    10.0
    """
    squares = [weight * weight for weight in weights]
    return sum(squares) ** 2 / sum([square * square for square in squares])


def t_quantile(level: float, freedom: float) -> float:
    """The two-sided quantile of Student's t, for `freedom` of at least 2 (Hill 1970, CACM algorithm 396).

    >>> round(t_quantile(0.95, 4), 3), round(t_quantile(0.95, 1e9), 3)
    (2.776, 1.96)
    """
    outside, x = 1 - level, NormalDist().inv_cdf((1 - level) / 2)
    if freedom > AMPLE:
        return -x
    a = 1 / (freedom - 0.5)
    b = 48 / (a * a)
    c = ((20_700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * sqrt(a * pi / 2) * freedom
    y = (d * outside) ** (2 / freedom)
    if y > 0.05 + a:
        y = x * x
        c += 0.3 * (freedom - 4.5) * (x + 0.6) if freedom < 5 else 0.0
        c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        return sqrt(freedom * expm1(a * y * y))
    far = 1 / (((freedom + 6) / (freedom * y) - 0.089 * d - 0.822) * (freedom + 2) * 3) + 0.5 / (freedom + 4)
    return sqrt(freedom * ((far * y - 1) * (freedom + 1) / (freedom + 2) + 1 / y))
