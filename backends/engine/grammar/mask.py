"""Bits to logits."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

_CEILINGS: Final = np.where(
    np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little"), np.inf, -np.inf
).astype(np.float32)
"""(256, 8): what each byte of a mask lets through of eight logits."""


def only(logits: NDArray[np.float32], allowed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """A copy of `logits` (vocab,) with -inf where the bit in `allowed` (vocab / 8 or more, lowest bit first) is 0.

    14 us for 49 152, whatever the bits; unpacking them to choose takes 30 to 180.

    >>> only(np.zeros(3, np.float32), np.array([0b101], np.uint8)).tolist()
    [0.0, -inf, 0.0]
    """
    return np.minimum(logits, _CEILINGS.take(allowed, axis=0).reshape(-1)[: logits.size])
