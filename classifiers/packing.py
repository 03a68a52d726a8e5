"""Inputs of heads as the numbers of a log, and back. Half precision: the encoder serves in 8 bits anyway."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from classifiers.features import NAMES
from classifiers.heads.inputs import Inputs
from classifiers.numbers import Numbers

HALF = np.dtype("<f2")


def make_of(encoder: str) -> str:
    """The name of numbers by this encoder and by this release's features."""
    return f"{encoder}/{blake2b('/'.join(NAMES).encode(), digest_size=4).hexdigest()}"


def pack(inputs: Inputs, made_by: str) -> Numbers:
    """The numbers of one turn."""
    return Numbers(made_by, inputs.vectors[0].astype(HALF).tobytes(), inputs.lexical[0].astype(HALF).tobytes())


def unpack(kept: Sequence[Numbers]) -> Inputs:
    """One row for each; all of one make. Raises ValueError where they are not of one length."""
    return Inputs(_rows([one.vector for one in kept]), _rows([one.lexical for one in kept]))


def _rows(packed: Sequence[bytes]) -> NDArray[np.float32]:
    return np.stack([np.frombuffer(row, HALF) for row in packed]).astype(np.float32)
