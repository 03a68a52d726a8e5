"""Normal mixtures: e-processes and bounds for sums, valid at every look (Howard, Ramdas, McAuliffe, Sekhon, 1810.08240).

A sum S with variance process V that is sub-Gaussian under the null gives a process that stays below 1/alpha with chance
1 - alpha, for ever. `rho` says around which V it is sharpest; it may not depend on what the null leaves to chance.
"""

import math

SQRT2 = math.sqrt(2)
FAR = -37.0
"""Below this many standard deviations a normal tail underflows a float."""


def rho_for(variance: float, alpha: float) -> float:
    """The rho with which the two-sided bound is (within a few percent) narrowest at this V. One-sided: with 2 alpha.

    >>> round(rho_for(100, 0.05), 5)
    12.60056
    """
    double_log = -2 * math.log(alpha)
    return variance / (double_log + math.log1p(double_log))


def log_e(total: float, variance: float, rho: float) -> float:
    """Log of the two-sided e-value.

    >>> round(log_e(10, 100, rho_for(100, 0.05)), 6)
    -0.651005
    """
    return 0.5 * math.log(rho / (variance + rho)) + total * total / (2 * (variance + rho))


def log_e_above(total: float, variance: float, rho: float) -> float:
    """Log of the e-value against "the sum does not drift upwards".

    >>> round(log_e_above(10, 100, rho_for(100, 0.1)), 6)
    -0.065024
    """
    spread = variance + rho
    root = total / math.sqrt(spread)
    return 0.5 * math.log(4 * rho / spread) + root * root / 2 + log_normal_cdf(root)


def bound(variance: float, rho: float, alpha: float) -> float:
    """|S| stays below this at every look, with chance 1 - alpha."""
    spread = variance + rho
    return math.sqrt(spread * math.log(spread / (rho * alpha * alpha)))


def bound_above(variance: float, rho: float, alpha: float) -> float:
    """S stays below this at every look, with chance 1 - alpha. Found by halving: the two-sided bound is above it."""
    low, high = 0.0, bound(variance, rho, alpha)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if log_e_above(middle, variance, rho) > -math.log(alpha) else (middle, high)
    return high


def log_normal_cdf(x: float) -> float:
    """
    >>> round(log_normal_cdf(0.0), 6), round(log_normal_cdf(-40.0), 3)
    (-0.693147, -804.608)
    """
    if x > FAR:
        return math.log(math.erfc(-x / SQRT2) / 2)
    return -x * x / 2 - math.log(-x * math.sqrt(2 * math.pi)) + math.log1p(-1 / (x * x))


def anytime_p(log_e_value: float) -> float:
    """The p-value that the greatest e-value so far amounts to.

    >>> round(anytime_p(math.log(20)), 12), anytime_p(-1.0)
    (0.05, 1.0)
    """
    return math.exp(-max(0.0, log_e_value))
