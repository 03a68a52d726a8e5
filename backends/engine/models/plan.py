"""A step laid out for the tensors: which rows run together, and which rows of which sequences attend together.

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
from backends.engine.layers.pool import Pool, in_tiles, sent
from backends.engine.layers.stack import Group, Paging

MOST_SCORES = 1 << 24
"""Scores of one group, over all heads: 64 MiB."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Agreeing sizes: rows of a pass, rows of one sequence that attend together, sequences that do, positions of one tile,
    rows of the head."""

    rows: tuple[int, ...]
    queries: tuple[int, ...]
    sequences: tuple[int, ...]
    tile: tuple[int, ...]
    head: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a pass, all of one sequence: rows (size,), their positions (size,), the last ones repeated, and their blocks."""

    rows: NDArray[np.int64]
    positions: NDArray[np.int64]
    blocks: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Pass:
    """Rows start..end of the step, padded to an agreeing size. begun: blocks that are written from their first slot."""

    start: int
    end: int
    tokens: Tensor
    positions: Tensor
    begun: Tensor | None
    paging: Paging


class Planner:
    """Lays steps out for one pool and one set of agreeing sizes.

    Where padding costs more than calls, on a CPU, sequences attend together when they are about as long, and one alone is
    read in place. Where `calls_cost` more, and graphs want few shapes, all with as many rows attend together, gathered.
    """

    def __init__(
        self, pool: Pool, sizes: Sizes, heads: int, kv_heads: int, window: int | None, *, calls_cost: bool = False
    ) -> None:
        self.pool, self.sizes, self.window = pool, sizes, window
        self.heads, self.kv_heads, self.group = heads, kv_heads, heads // kv_heads
        self.device = pool.kv.device
        self._calls_cost = calls_cost

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
        return Pass(
            start, end,
            tokens=self._tensor(_padded(step.tokens[rows], size)),
            positions=self._tensor(_padded(positions, size)),
            begun=self._tensor(begun.astype(np.int64)) if len(begun) else None,
            paging=self._paging(slots, list(self._together(step, positions, sequence))),
        )  # fmt: skip

    def _paging(self, slots: NDArray[np.int64], together: Sequence[Sequence[Piece]]) -> Paging:
        groups = [self._group(pieces) for pieces in together]
        back = self._back(together, len(slots))
        return Paging(self.pool.layers, self._tensor(slots), groups, self._tensor(back))

    def _together(
        self, step: Step, positions: NDArray[np.int32], sequence: NDArray[np.int32]
    ) -> Iterator[Sequence[Piece]]:
        """Pieces as they attend together: of one size and, unless calls cost, none twice as long as another."""
        alike: dict[tuple[int, int], list[Piece]] = {}
        edges = [0, *(np.flatnonzero(np.diff(sequence)) + 1).tolist(), len(sequence)]
        for start, end in pairwise(edges):
            for piece in self._pieces(step.tables[sequence[start]], positions, start, end):
                length = 0 if self._calls_cost else len(piece.blocks).bit_length()
                alike.setdefault((len(piece.rows), length), []).append(piece)
        for pieces in alike.values():
            scores = max(len(piece.rows) * len(piece.blocks) for piece in pieces) * BLOCK_TOKENS * self.heads
            for start, end, count in cut(len(pieces), _affordable(self.sizes.sequences, scores)):
                yield pieces[start:end] + pieces[end - 1 : end] * (count - end + start)

    def _pieces(self, table: NDArray[np.int32], positions: NDArray[np.int32], start: int, end: int) -> Iterator[Piece]:
        reach = int(positions[end - 1]) + BLOCK_TOKENS
        for at, to, size in cut(end - start, _affordable(self.sizes.queries, reach * self.heads)):
            rows = _padded(np.arange(start + at, start + to), size)
            last = int(positions[rows[-1]])
            yield Piece(rows, positions[rows].astype(np.int64), table[: last // BLOCK_TOKENS + 1])

    def _group(self, pieces: Sequence[Piece]) -> Group:
        blocks = max(len(piece.blocks) for piece in pieces)
        tiles = in_tiles(blocks, self.sizes.tile[-1])
        lengths = [fitting(self.sizes.tile, (end - start) * BLOCK_TOKENS) for start, end in tiles]
        return Group(
            take=self._tensor(self._take(pieces)),
            reaches=[
                self.pool.reach([piece.blocks[start:end] for piece in pieces], length, in_place=not self._calls_cost)
                for (start, end), length in zip(tiles, lengths, strict=True)
            ],
            masks=self._masks(np.stack([piece.positions for piece in pieces]), lengths),
        )

    def _take(self, pieces: Sequence[Piece]) -> NDArray[np.int64]:
        rows = np.stack([piece.rows for piece in pieces])[None, :, :, None]
        heads = np.arange(self.heads).reshape(self.kv_heads, 1, 1, self.group)
        return (rows * (self.heads + 2 * self.kv_heads) + heads).ravel()

    def _masks(self, queries: NDArray[np.int64], lengths: Sequence[int]) -> list[Tensor]:
        """0 where a position is seen, -inf where it is later or has left the window; each row once per head of its group.
        One sequence's serve all KV heads; those of several are repeated for each, since all of a batch have one stride."""
        age = self._tensor(queries)[:, :, None] - torch.arange(sum(lengths), device=self.device)
        seen = age >= 0 if self.window is None else (age >= 0) & (age < self.window)
        mask = torch.where(seen, 0.0, float("-inf")).repeat_interleave(self.group, dim=1)
        if len(mask) > 1:
            mask = mask.repeat(self.kv_heads, 1, 1)
        return [part.contiguous() for part in torch.split(mask, list(lengths), dim=-1)]

    def _back(self, together: Sequence[Sequence[Piece]], size: int) -> NDArray[np.int64]:
        """A padding row of a piece repeats its last one, so it may say where that row's values stand."""
        places, at = np.zeros((size, self.kv_heads, self.group), np.int64), 0
        for pieces in together:
            rows = np.stack([piece.rows for piece in pieces])
            order = np.arange(self.heads * rows.size).reshape(self.kv_heads, *rows.shape, self.group)
            places[rows] = order.transpose(1, 2, 0, 3) + at
            at += order.size
        return places.ravel()

    def _tensor(self, values: NDArray[np.generic]) -> Tensor:
        return sent(values, self.device)


def _affordable(sizes: tuple[int, ...], scores: int) -> tuple[int, ...]:
    """The sizes that keep so many scores each below the limit, and at least the first."""
    return tuple(size for size in sizes if size * scores <= MOST_SCORES) or sizes[:1]


def _padded(values: NDArray[np.integer], size: int) -> NDArray[np.int64]:
    """The last value repeated up to `size`."""
    return np.pad(values.astype(np.int64), (0, size - len(values)), mode="edge")
