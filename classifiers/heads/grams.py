"""Hashed word 1- and 2-grams: which words stand in a turn, without a vocabulary to ship."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from classifiers.features import words_of

BUCKETS = 1 << 14
_MAX_WORDS = 400


@dataclass(frozen=True, slots=True)
class Grams:
    """Sparse rows: row i holds `buckets[starts[i]:starts[i + 1]]`, each bucket once, with equal weights of norm 1."""

    buckets: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: NDArray[np.intp]) -> "Grams":
        """The rows at these positions, in this order."""
        parts = [self.buckets[self.starts[row] : self.starts[row + 1]] for row in rows]
        starts = np.cumsum([0, *map(len, parts)]).astype(np.int64)
        return Grams(np.concatenate(parts) if parts else self.buckets[:0], starts)


def buckets_of(text: str) -> list[int]:
    """The buckets of a text's words and neighbouring pairs, sorted and distinct; of a long text, its first 400 words."""
    words = words_of(text)[:_MAX_WORDS]
    grams = (*words, *map(" ".join, pairwise(words)))
    return sorted({crc32(gram.encode()) % BUCKETS for gram in grams})


def gram_rows(texts: Sequence[str]) -> Grams:
    """One sparse row per text."""
    rows = [buckets_of(text) for text in texts]
    starts = np.cumsum([0, *map(len, rows)])
    return Grams(np.array([bucket for row in rows for bucket in row], dtype=np.int32), starts.astype(np.int64))
