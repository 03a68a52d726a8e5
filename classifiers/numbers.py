"""What heads read of a turn, as a log may keep it: numbers, no text. Half precision, for a log has many of them."""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers.features import NAMES
from classifiers.heads.inputs import Inputs

HALF = np.dtype("<f2")


class Numbers(msgspec.Struct, frozen=True):
    """`vector` and `lexical` as little-endian float16. `made_by` names the encoder and the features: numbers of another make
    mean something else. A sentence's embedding tells roughly what it was about, so it is kept only where that was asked for."""

    made_by: str
    vector: bytes
    lexical: bytes


def make_of(encoder: str) -> str:
    """The name of numbers by this encoder and by this release's features."""
    return f"{encoder}/{blake2b('/'.join(NAMES).encode(), digest_size=4).hexdigest()}"


def pack(inputs: Inputs, made_by: str) -> Numbers:
    """The numbers of one turn."""
    return Numbers(made_by, _half(inputs.vectors[0]), _half(inputs.lexical[0]))


def unpack(kept: Sequence[Numbers]) -> Inputs:
    """One row for each; all of one make. Raises ValueError where they are not of one length."""
    return Inputs(_whole([one.vector for one in kept]), _whole([one.lexical for one in kept]))


def _half(row: NDArray[np.float32]) -> bytes:
    return row.astype(HALF).tobytes()


def _whole(rows: Sequence[bytes]) -> NDArray[np.float32]:
    return np.stack([np.frombuffer(row, HALF) for row in rows]).astype(np.float32)
