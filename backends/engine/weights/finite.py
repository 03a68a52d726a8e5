"""Whether weights are numbers: kernels and rounding make finite garbage of a NaN, which is a wrong answer and no crash."""

import numpy as np
from numpy.typing import NDArray

from backends.engine.weights.faults import WeightsError


def finite(values: NDArray[np.float32], name: str, origin: str) -> NDArray[np.float32]:
    """The same array. Raises WeightsError where its squares do not add up to a finite number: one pass, 32 us for a MB."""
    flat = values.reshape(-1)
    with np.errstate(all="ignore"):
        square = np.dot(flat, flat)
    if not np.isfinite(square):
        raise WeightsError(
            f"{origin}: {name} holds numbers that are not finite, or far too large; get the weights again"
        )
    return values
