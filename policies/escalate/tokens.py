"""What the probabilities of the chosen tokens say: quantiles and the worst stretch, never the mean.

An answer that goes wrong at one name is sure of everything else, and long answers drown a doubt in their mean
(Gupta et al. 2024, "Language model cascades: token-level uncertainty and beyond": quantiles defer better than sums and means).
"""

from collections.abc import Sequence

STRETCH = 8
"""Tokens in a row whose mean makes a dip: about a name or a number."""


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie, the nearest one at hand. `values` is not empty.

    >>> quantile([-3.0, -1.0, -2.0, 0.0], 0.5)
    -2.0
    """
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * (len(ranked) - 1) + 0.5 - 1e-9))]


def dip(values: Sequence[float], stretch: int = STRETCH) -> float:
    """The lowest mean of `stretch` values in a row; of fewer values, their mean. `values` is not empty.

    >>> dip([0.0, 0.0, -4.0, -4.0, 0.0], stretch=2)
    -4.0
    """
    width = min(stretch, len(values))
    total = lowest = sum(values[:width])
    for gone, new in zip(values, values[width:], strict=False):
        total += new - gone
        lowest = min(lowest, total)
    return lowest / width
