"""Bounds that a fresh prompt keeps with a stated probability, whatever the distribution, from prompts drawn like it.

Split conformal prediction (Vovk, Gammerman and Shafer 2005): among n + 1 exchangeable numbers each rank is equally likely
for the last one, so order statistics of the n are bounds for it. They hold over calibration sample and fresh prompt together.
"""

from math import ceil, floor, inf

import numpy as np

from classifiers.heads.inputs import Floats


def upper_bound(seen: Floats, level: float) -> float:
    """A fresh number is at most this with a probability of at least `level`; inf where so few can't tell.

    >>> upper_bound(np.arange(9.0), 0.5), upper_bound(np.arange(9.0), 0.95)
    (4.0, inf)
    """
    rank = ceil(level * (len(seen) + 1))
    return inf if rank > len(seen) else float(np.sort(seen)[max(rank, 1) - 1])


def lower_bound(seen: Floats, miss: float) -> float:
    """A fresh number is below this with a probability of at most `miss`; -inf where so few can't tell.

    >>> lower_bound(np.arange(99.0), 0.02), lower_bound(np.arange(9.0), 0.02)
    (1.0, -inf)
    """
    rank = floor(miss * (len(seen) + 1))
    return -inf if rank < 1 else float(np.sort(seen)[rank - 1])
