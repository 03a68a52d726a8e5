"""All layers of a decoder over the rows of one pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from backends.engine.layers.attention import attend
from backends.engine.layers.decoder import Layer
from backends.engine.layers.pool import Reach, write
from policies.catalogue import KvPrecision


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one or several sequences that attend as one batch, over tiles in order. take: of all vectors of a layer the
    queries, (kv_heads, sequences, rows * heads / kv_heads) flat; masks as `attend` wants them."""

    take: Tensor
    reaches: Sequence[Reach]
    masks: Sequence[Tensor]


@dataclass(frozen=True, slots=True)
class Paging:
    """Where the rows of a pass put their keys and values, and who reads what.

    layers: of the pool; slots (m,): where in each of them; back (m * heads,): where each head of each row stands in the groups'
    output, one group after the other.
    """

    layers: Sequence[Tensor]
    slots: Tensor
    groups: Sequence[Group]
    back: Tensor


class Passing(Protocol):
    """One pass: (m, hidden) → the same. turns: (m, 1, head_dim / 2), what each row's position turns a rotary pair by."""

    def __call__(self, hidden: Tensor, turns: Tensor, paging: Paging) -> Tensor: ...


class Stack:
    """All layers, one after the other."""

    def __init__(self, layers: Sequence[Layer], kv_precision: KvPrecision = "native") -> None:
        self.layers, self._is_int8 = layers, kv_precision == "int8"
        spec = layers[0].spec
        self._heads, self._head_dim, self._scale = spec.heads, spec.head_dim, spec.head_dim**-0.5
        self._width = spec.heads * spec.head_dim

    def __call__(self, hidden: Tensor, turns: Tensor, paging: Paging) -> Tensor:
        """In place."""
        for index, (layer, kv) in enumerate(zip(self.layers, paging.layers, strict=True)):
            vectors = layer.project(hidden, turns)
            write(kv, paging.slots, vectors[:, self._heads :], self._is_int8)
            flat = vectors.flatten(0, 1)
            found = [self._attended(index, group, flat) for group in paging.groups]
            together = found[0] if len(found) == 1 else torch.cat(found)
            hidden = layer.finish(hidden, together.index_select(0, paging.back).view(-1, self._width))
        return hidden

    def _attended(self, index: int, group: Group, vectors: Tensor) -> Tensor:
        """(heads * rows of the group, head_dim)"""
        queries = vectors.index_select(0, group.take).view(-1, group.masks[0].shape[1], self._head_dim)
        tiles = [reach.tile(index) for reach in group.reaches]
        return attend(queries, tiles, group.masks, self._scale).flatten(0, 1)
