"""Keys and values of every layer in blocks of 16 positions, float32."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from backends.engine.api import BLOCK_TOKENS
from backends.engine.layers.attention import Tile
from backends.engine.spec import ModelSpec
from policies.catalogue import KvPrecision


class Reach(Protocol):
    """A run of positions of one sequence."""

    def tile(self, layer: int) -> Tile: ...


class Pool:
    """`blocks` blocks and two of its own: one of zeros, to fill a tile up, and one for what padding rows write."""

    def __init__(
        self, spec: ModelSpec, blocks: int, device: torch.device, kv_precision: KvPrecision = "native"
    ) -> None:
        self.zeros, self.spill = blocks, blocks + 1
        self.kv = torch.zeros(spec.layers, blocks + 2, BLOCK_TOKENS, 2, spec.kv_heads, spec.head_dim, device=device)
        self._is_int8, self._head_dim = kv_precision == "int8", spec.head_dim
        self._slots = [layer.view(-1, 2 * spec.kv_heads * spec.head_dim) for layer in self.kv.unbind(0)]

    def write(self, layer: int, slots: Tensor, kv: Tensor) -> None:
        """kv (m, 2 * kv_heads * head_dim), keys first, to slots = block * 16 + offset."""
        if self._is_int8:
            kv = as_int8(kv.view(len(kv), -1, self._head_dim)).view_as(kv)
        self._slots[layer].index_copy_(0, slots, kv)

    def clear(self, blocks: Tensor) -> None:
        """Zero blocks that a sequence begins. What an earlier owner left, were it not finite, would outlive its mask."""
        self.kv.index_fill_(1, blocks, 0.0)

    def reach(self, table: NDArray[np.int32], size: int) -> Reach:
        """The blocks of `table`, filled up with zeros to `size` positions; seen in place where they lie in a row."""
        wanted = size // BLOCK_TOKENS
        first = int(table[0])
        if len(table) == wanted and np.array_equal(table, np.arange(first, first + wanted, dtype=np.int32)):
            return _InPlace(self.kv[:, first : first + wanted])
        padded = np.full(wanted, self.zeros, np.int64)
        padded[: len(table)] = table
        return _Gathered(self.kv, torch.from_numpy(padded).to(self.kv.device))


def as_int8(vectors: Tensor) -> Tensor:
    """The values that int8 keeps of vectors (..., head_dim), one scale for each: its largest magnitude is 127 steps."""
    steps = vectors.abs().amax(-1, keepdim=True) / 127
    levels = vectors / steps.clamp_min(torch.finfo(torch.float32).tiny)
    return levels.round_().clamp_(-127, 127).mul_(steps)


class _InPlace:
    """Adjacent blocks, read where they are: (layers, blocks, 16, 2, kv_heads, head_dim)."""

    def __init__(self, kv: Tensor) -> None:
        keys, values = kv.flatten(1, 2).unbind(2)
        self._tiles = list(map(Tile, keys.permute(0, 2, 3, 1).unbind(0), values.transpose(1, 2).unbind(0)))

    def tile(self, layer: int) -> Tile:
        return self._tiles[layer]


class _Gathered:
    """Scattered blocks, copied together when a layer needs them."""

    def __init__(self, kv: Tensor, index: Tensor) -> None:
        self._kv, self._index = kv, index

    def tile(self, layer: int) -> Tile:
        keys, values = self._kv[layer].index_select(0, self._index).flatten(0, 1).unbind(1)
        return Tile(keys.permute(1, 2, 0), values.transpose(0, 1))


def tables_in_tiles(table: NDArray[np.int32], largest: int) -> Sequence[NDArray[np.int32]]:
    """A block table cut into runs of at most `largest` positions."""
    step = largest // BLOCK_TOKENS
    return [table[at : at + step] for at in range(0, len(table), step)]
