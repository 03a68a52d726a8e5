"""Chunks to the arrays of one forward pass."""

import numpy as np

from backends.engine.api import Step
from backends.engine.scheduler import Chunk


def ragged(chunks: list[Chunk]) -> Step:
    """Rows of all chunks, one after the other; logits are wanted of the last known token and of every draft token."""
    tokens: list[int] = []
    wanted: list[int] = []
    for chunk in chunks:
        tokens += chunk.sequence.tokens[chunk.start : chunk.start + chunk.count]
        if chunk.samples:
            wanted.extend(range(len(tokens) - 1, len(tokens) + len(chunk.draft)))
        tokens += chunk.draft
    counts = [chunk.rows for chunk in chunks]
    starts = np.repeat([chunk.start - row for chunk, row in zip(chunks, _first_rows(counts), strict=True)], counts)
    return Step(
        tokens=np.array(tokens, np.int32),
        positions=(np.arange(len(tokens)) + starts).astype(np.int32),
        sequence=np.repeat(np.arange(len(chunks), dtype=np.int32), counts),
        tables=_tables(chunks),
        logit_rows=np.array(wanted, np.int32),
    )


def _first_rows(counts: list[int]) -> list[int]:
    return [0, *np.cumsum(counts[:-1]).tolist()]


def _tables(chunks: list[Chunk]) -> "np.ndarray[tuple[int, int], np.dtype[np.int32]]":
    width = max(len(chunk.sequence.table) for chunk in chunks)
    tables = np.zeros((len(chunks), width), np.int32)
    for row, chunk in zip(tables, chunks, strict=True):
        row[: len(chunk.sequence.table)] = np.frombuffer(chunk.sequence.table, np.int32)
    return tables
