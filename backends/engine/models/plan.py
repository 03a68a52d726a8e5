"""A step laid out for the tensors: which rows run together, and which rows of one sequence attend together.

Everything here is arithmetic on the step's own arrays, once for all layers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from backends.engine.api import BLOCK_TOKENS, Step
from backends.engine.layers.agreement import cut, fitting
from backends.engine.layers.pool import Pool, Reach, tables_in_tiles

MOST_SCORES = 1 << 24
"""Scores of one piece, over all heads: 64 MiB."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Agreeing sizes: rows of a pass, rows of one sequence that attend together, positions of one tile."""

    rows: tuple[int, ...]
    queries: tuple[int, ...]
    tile: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows start..end of a pass, of one sequence, that attend together padded to `size`; tiles and masks in order."""

    start: int
    end: int
    size: int
    reaches: Sequence[Reach]
    masks: Sequence[Tensor]


@dataclass(frozen=True, slots=True)
class Group:
    """Pieces of one size. take: (pieces * size,) rows of the pass; whole: take is every row in order."""

    size: int
    pieces: list[Piece]
    take: Tensor


@dataclass(frozen=True, slots=True)
class Pass:
    """Rows start..end of the step, padded to an agreeing size. back: where each row's attention stands in the groups' output,
    None when in order already. begun: blocks that are written from their first slot."""

    start: int
    end: int
    tokens: Tensor
    positions: Tensor
    slots: Tensor
    begun: Tensor | None
    groups: list[Group]
    back: Tensor | None


class Planner:
    """Lays steps out for one pool and one set of agreeing sizes."""

    def __init__(self, pool: Pool, sizes: Sizes, heads: int, group: int, window: int | None) -> None:
        self.pool, self.sizes, self.heads, self.group, self.window = pool, sizes, heads, group, window
        self.device = pool.kv.device

    def passes(self, step: Step) -> Iterator[Pass]:
        """The step's rows in order. An earlier pass holds earlier positions, so its rows never look into a later one."""
        for start, end, size in cut(len(step.tokens), self.sizes.rows):
            yield self._pass(step, start, end, size)

    def _pass(self, step: Step, start: int, end: int, size: int) -> Pass:
        rows = slice(start, end)
        positions, sequence = step.positions[rows], step.sequence[rows]
        blocks = step.tables[sequence, positions // BLOCK_TOKENS]
        offsets = positions % BLOCK_TOKENS
        slots = np.full(size, self.pool.spill * BLOCK_TOKENS, np.int64)
        slots[: end - start] = blocks.astype(np.int64) * BLOCK_TOKENS + offsets
        begun = blocks[offsets == 0]
        groups = self._groups(step, positions, sequence)
        return Pass(
            start, end,
            tokens=self._tensor(_padded(step.tokens[rows], size)),
            positions=self._tensor(_padded(positions, size)),
            slots=self._tensor(slots),
            begun=self._tensor(begun.astype(np.int64)) if len(begun) else None,
            groups=groups,
            back=self._back(groups, end - start, size),
        )  # fmt: skip

    def _groups(self, step: Step, positions: NDArray[np.int32], sequence: NDArray[np.int32]) -> list[Group]:
        by_size: dict[int, list[Piece]] = {}
        edges = [0, *(np.flatnonzero(np.diff(sequence)) + 1).tolist(), len(sequence)]
        for start, end in pairwise(edges):
            for piece in self._pieces(step.tables[sequence[start]], positions, start, end):
                by_size.setdefault(piece.size, []).append(piece)
        return [Group(size, pieces, self._tensor(_take(pieces, size))) for size, pieces in by_size.items()]

    def _pieces(self, table: NDArray[np.int32], positions: NDArray[np.int32], start: int, end: int) -> Iterator[Piece]:
        reach = int(positions[end - 1]) + BLOCK_TOKENS
        affordable = [size for size in self.sizes.queries if size * self.heads * reach <= MOST_SCORES]
        for at, to, size in cut(end - start, affordable or self.sizes.queries[:1]):
            yield self._piece(table, positions, start + at, start + to, size)

    def _piece(self, table: NDArray[np.int32], positions: NDArray[np.int32], start: int, end: int, size: int) -> Piece:
        blocks = table[: int(positions[end - 1]) // BLOCK_TOKENS + 1]
        tiles = tables_in_tiles(blocks, self.sizes.tile[-1])
        lengths = [fitting(self.sizes.tile, len(tile) * BLOCK_TOKENS) for tile in tiles]
        queries = _padded(positions[start:end], size)
        return Piece(
            start, end, size,
            reaches=[self.pool.reach(tile, length) for tile, length in zip(tiles, lengths, strict=True)],
            masks=self._masks(queries, lengths),
        )  # fmt: skip

    def _masks(self, queries: NDArray[np.int64], lengths: Sequence[int]) -> list[Tensor]:
        """0 where a position is seen, -inf where it is later or has left the window; each row once per head of its group."""
        age = queries[:, None] - np.arange(sum(lengths))[None, :]
        seen = age >= 0 if self.window is None else (age >= 0) & (age < self.window)
        mask = np.where(seen, np.float32(0), np.float32("-inf")).repeat(self.group, axis=0)
        return [part.contiguous() for part in torch.split(self._tensor(mask), list(lengths), dim=-1)]

    def _back(self, groups: list[Group], rows: int, size: int) -> Tensor | None:
        places, at = np.zeros(size, np.int64), 0
        for group in groups:
            for piece in group.pieces:
                places[piece.start : piece.end] = np.arange(at, at + piece.end - piece.start)
                at += group.size
        in_order = at == size and np.array_equal(places, np.arange(size))
        return None if in_order else self._tensor(places)

    def _tensor(self, values: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(values).to(self.device)


def _padded(values: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """The last value repeated up to `size`."""
    return np.pad(values.astype(np.int64), (0, size - len(values)), mode="edge")


def _take(pieces: Sequence[Piece], size: int) -> NDArray[np.int64]:
    return np.concatenate([_padded(np.arange(p.start, p.end, dtype=np.int32), size) for p in pieces])
