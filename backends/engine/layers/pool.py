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


class Reach(Protocol):
    """A run of positions of one sequence or, as long, of several."""

    @property
    def tensors(self) -> list[Tensor]:
        """What tells it from others of its kind."""
        ...

    def of(self, tensors: list[Tensor], size: int) -> "Reach":
        """The reach of its kind with these tensors and so many positions."""
        ...

    def tile(self, layer: int) -> Tile: ...


class Pool:
    """`blocks` blocks and two of its own: one of zeros, to fill a tile up, and one for what padding rows write.

    Head by head, so that blocks of many sequences, gathered, are the batch of one product: each of `layers` is
    (2 * kv_heads, slots, head_dim), keys first, slot = block * 16 + offset.
    """

    def __init__(self, spec: ModelSpec, blocks: int, device: torch.device) -> None:
        self.zeros, self.spill = blocks, blocks + 1
        self.kv = torch.zeros(spec.layers, 2 * spec.kv_heads, blocks + 2, BLOCK_TOKENS, spec.head_dim, device=device)
        self.layers = self.kv.flatten(2, 3).unbind(0)

    def clear(self, blocks: Tensor) -> None:
        """Zero blocks that a sequence begins. What an earlier owner left, were it not finite, would outlive its mask."""
        self.kv.index_fill_(2, blocks, 0.0)

    def reach(self, tables: Sequence[NDArray[np.int32]], size: int, *, in_place: bool = True) -> Reach:
        """The blocks of each table, filled up with zeros to `size` positions; seen in place, if so wanted, where one's lie
        in a row."""
        wanted = size // BLOCK_TOKENS
        first = int(tables[0][0]) if len(tables[0]) else self.zeros
        if (
            in_place
            and len(tables) == 1
            and np.array_equal(tables[0], np.arange(first, first + wanted, dtype=np.int32))
        ):
            seen = self.kv[:, :, first : first + wanted].flatten(2, 3)
            heads = seen.shape[1] // 2
            return _InPlace([*seen[:, :heads].transpose(2, 3).unbind(0), *seen[:, heads:].unbind(0)])
        padded = np.full((len(tables), wanted), self.zeros, np.int64)
        for row, table in zip(padded, tables, strict=True):
            row[: len(table)] = table
        return _Gathered(self.layers, sent(padded.ravel(), self.kv.device), size)


def write(layer: Tensor, slots: Tensor, kv: Tensor, is_int8: bool) -> None:
    """kv (m, 2 * kv_heads, head_dim) to slots (m,) of a layer of the pool."""
    layer.index_copy_(1, slots, (as_int8(kv) if is_int8 else kv).transpose(0, 1))


def as_int8(vectors: Tensor) -> Tensor:
    """The values that int8 keeps of vectors (..., head_dim), one scale for each: its largest magnitude is 127 steps."""
    steps = vectors.abs().amax(-1, keepdim=True) / 127
    levels = vectors / steps.clamp_min(torch.finfo(torch.float32).tiny)
    return levels.round_().clamp_(-127, 127).mul_(steps)


class _InPlace:
    """Adjacent blocks, read where they are: the keys of each layer, (kv_heads, head_dim, size), then the values of each,
    (kv_heads, size, head_dim)."""

    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors = tensors

    def of(self, tensors: list[Tensor], size: int) -> "_InPlace":
        return _InPlace(tensors)

    def tile(self, layer: int) -> Tile:
        return Tile(self.tensors[layer], self.tensors[len(self.tensors) // 2 + layer])


class _Gathered:
    """Scattered blocks, or those of several sequences, copied together when a layer needs them."""

    def __init__(self, layers: Sequence[Tensor], index: Tensor, size: int) -> None:
        self._layers, self._index, self._size = layers, index, size

    @property
    def tensors(self) -> list[Tensor]:
        return [self._index, *self._layers]

    def of(self, tensors: list[Tensor], size: int) -> "_Gathered":
        return _Gathered(tensors[1:], tensors[0], size)

    def tile(self, layer: int) -> Tile:
        heads, _, width = self._layers[layer].shape
        found = self._layers[layer].view(heads, -1, BLOCK_TOKENS, width).index_select(1, self._index)
        keys, values = found.view(2, -1, self._size, width).unbind(0)
        return Tile(keys.transpose(1, 2), values)


def sent(values: NDArray[np.generic], device: torch.device) -> Tensor:
    """On the device; to a GPU from pinned memory, so that nothing waits for the copy."""
    here = torch.from_numpy(values)
    return here.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else here.to(device)


def in_tiles(blocks: int, largest: int) -> Sequence[tuple[int, int]]:
    """Blocks in runs (start, end) of at most `largest` positions."""
    step = largest // BLOCK_TOKENS
    return [(at, min(at + step, blocks)) for at in range(0, blocks, step)]
