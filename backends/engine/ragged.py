"""Rows of many sequences to the arrays of one forward pass."""

from array import array
from collections.abc import Sequence as Seq
from typing import NamedTuple

import numpy as np

from backends.engine.api import Step
from backends.engine.scheduler import Chunk


class Rows(NamedTuple):
    """Neighbouring tokens of one sequence, the first at position `start`; logits of the last `wanted` of them are wanted."""

    tokens: Seq[int]
    start: int
    table: "array[int]"
    wanted: int


def ragged(chunks: Seq[Chunk]) -> Step:
    """Logits are wanted of the last known token of a chunk and of every draft token."""
    return step_of([_rows(chunk) for chunk in chunks])


def step_of(pieces: Seq[Rows]) -> Step:
    """The rows of all pieces, one after the other."""
    counts = [len(piece.tokens) for piece in pieces]
    firsts = [0, *np.cumsum(counts[:-1]).tolist()]
    starts = np.repeat([piece.start - first for piece, first in zip(pieces, firsts, strict=True)], counts)
    ends = [first + count for first, count in zip(firsts, counts, strict=True)]
    wanted = [row for piece, end in zip(pieces, ends, strict=True) for row in range(end - piece.wanted, end)]
    return Step(
        tokens=np.array([token for piece in pieces for token in piece.tokens], np.int32),
        positions=(np.arange(sum(counts)) + starts).astype(np.int32),
        sequence=np.repeat(np.arange(len(pieces), dtype=np.int32), counts),
        tables=_tables([piece.table for piece in pieces]),
        logit_rows=np.array(wanted, np.int32),
    )


def _rows(chunk: Chunk) -> Rows:
    known = chunk.sequence.tokens[chunk.start : chunk.start + chunk.count]
    return Rows(known + chunk.draft, chunk.start, chunk.sequence.table, (1 + len(chunk.draft)) * chunk.samples)


def _tables(tables: "Seq[array[int]]") -> "np.ndarray[tuple[int, int], np.dtype[np.int32]]":
    padded = np.zeros((len(tables), max(map(len, tables))), np.int32)
    for row, table in zip(padded, tables, strict=True):
        row[: len(table)] = np.frombuffer(table, np.int32)
    return padded
