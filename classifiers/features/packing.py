"""Inputs of heads as the numbers of a log, and back. Half precision: the encoder serves in 8 bits anyway."""

from collections.abc import Sequence
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from classifiers.embedding.static import TABLE
from classifiers.features.lexical import NAMES
from classifiers.features.numbers import Numbers
from classifiers.heads.inputs import Inputs

HALF = np.dtype("<f2")


def make_of(encoder: str) -> str:
    """The name of numbers by this encoder and by this release's features."""
    return f"{encoder}/{blake2b('/'.join(NAMES).encode(), digest_size=4).hexdigest()}"


@cache
def table_name() -> str:
    """The name of the static table at hand."""
    return blake2b(TABLE.read_bytes(), digest_size=4).hexdigest()


def pack(inputs: Inputs, made_by: str, static: NDArray[np.float32] | None = None) -> Numbers:
    """The numbers of one turn; `static` is its vector by the table at hand."""
    vector, lexical = inputs.vectors[0].astype(HALF).tobytes(), inputs.lexical[0].astype(HALF).tobytes()
    if static is None:
        return Numbers(made_by, vector, lexical)
    return Numbers(made_by, vector, lexical, static.astype(HALF).tobytes(), table_name())


def width_of(kept: Numbers) -> int:
    """How many numbers its embedding has."""
    return len(kept.vector) // HALF.itemsize


def unpack(kept: Sequence[Numbers]) -> Inputs:
    """One row for each; all of one make. Raises ValueError where they are not of one length."""
    return Inputs(_rows([one.vector for one in kept]), _rows([one.lexical for one in kept]))


def unpack_static(kept: Sequence[Numbers]) -> NDArray[np.float32] | None:
    """The static vectors, a row for each; None where one is missing or of another table."""
    if any(not one.static or one.table != table_name() for one in kept):
        return None
    return _rows([one.static for one in kept])


def _rows(packed: Sequence[bytes]) -> NDArray[np.float32]:
    return np.stack([np.frombuffer(row, HALF) for row in packed]).astype(np.float32)
