"""The static embedder: a vector per word piece, made from the encoder once; a text is the mean of its pieces.

A thousandth of the encoder's work and no torch. It knows no order of words, so it speaks only where heads/quick.py knows how
far it may be off. `distil.py` makes the table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from classifiers.embedding.pieces import Vocabulary, WordPieces

TABLE = Path(__file__).parent / "static.safetensors"
_LEAST_NORM = 1e-6

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StaticEmbedder:
    """`numbers` int8 [pieces, width], `scale` float32 [pieces, 1]: a piece's vector is their product. It is made for the pieces
    of a text alone, as the whole table would be four times as large.
    """

    pieces: WordPieces
    numbers: NDArray[np.int8]
    scale: Vectors

    @property
    def width(self) -> int:
        return int(self.numbers.shape[1])

    def vector(self, text: str) -> Vectors:
        """The unit vector of a text, float32 [width]; all zero where no piece of it is known."""
        pieces = self.pieces.numbers(text)
        if not pieces:
            return np.zeros(self.width, np.float32)
        mean = (self.numbers[pieces] * self.scale[pieces]).mean(0)
        return np.asarray(mean / max(float(np.sqrt(mean @ mean)), _LEAST_NORM), np.float32)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row per text, float32 [n, width]."""
        return np.stack([self.vector(text) for text in texts]) if texts else np.zeros((0, self.width), np.float32)


def save(path: Path, pieces: Sequence[str], rows: Vectors, card: Mapping[str, str]) -> None:
    """Rows in 8 bits with a scale each; the pieces as lines; the card as the file's metadata."""
    from safetensors.numpy import save as pack

    scale = np.maximum(np.abs(rows).max(1), _LEAST_NORM) / 127
    parts: dict[str, NDArray[np.generic]] = {
        "numbers": np.rint(rows / scale[:, None]).astype(np.int8),
        "scale": scale.astype(np.float32),
        "pieces": np.frombuffer("\n".join(pieces).encode(), np.uint8),
    }
    path.write_bytes(pack(parts, metadata=dict(card)))


@cache
def open_static(path: Path = TABLE) -> StaticEmbedder:
    """Reads the table: the shipped one unless named."""
    from safetensors.numpy import load as unpack

    parts = unpack(path.read_bytes())
    names = parts["pieces"].tobytes().decode().split("\n")
    pieces = WordPieces(Vocabulary(names), max(map(len, names)))
    return StaticEmbedder(pieces, parts["numbers"].astype(np.int8), parts["scale"].astype(np.float32)[:, None])
