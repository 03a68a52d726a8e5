"""A ratio of two sums as a mean: one value for each pair (the delta method's linearisation)."""


def linearised(top: float, bottom: float, at: float, mean_bottom: float) -> float:
    """One pair as a single value whose mean says whether the ratio is above `at`, on the ratio's own scale. Its variance is
    the delta method's.

    >>> linearised(3.0, 4.0, 0.5, 2.0)
    0.5
    """
    return (top - at * bottom) / mean_bottom
