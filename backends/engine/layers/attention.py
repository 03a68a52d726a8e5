"""Attention of the rows of sequences, each over its own keys and values, in float32, in a fixed order.

Scores of a tile of positions, one softmax over all tiles, then the tiles' values added from first to last. A masked position
has weight zero exactly, so a longer tile changes nothing (that, too, is measured: see `agreement`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(slots=True)
class Tile:
    """Adjacent positions in one layer: keys (b, head_dim, n), values (b, n, head_dim), b = kv_heads * sequences."""

    keys: Tensor
    values: Tensor


def attend(queries: Tensor, tiles: Sequence[Tile], masks: Sequence[Tensor], scale: float) -> Tensor:
    """(b, rows * group, head_dim) queries → as many values. masks: (b or 1, rows * group, n) for each tile, 0 or -inf."""
    scores = [torch.baddbmm(mask, queries, tile.keys, alpha=scale) for mask, tile in zip(masks, tiles, strict=True)]
    if len(scores) == 1:
        return torch.bmm(torch.softmax(scores[0], -1), tiles[0].values)
    weights = torch.softmax(torch.cat(scores, -1), -1)
    return _summed(torch.split(weights, [score.shape[-1] for score in scores], -1), tiles)


def _summed(weights: Sequence[Tensor], tiles: Sequence[Tile]) -> Tensor:
    total = torch.bmm(weights[0], tiles[0].values)
    for weight, tile in zip(weights[1:], tiles[1:], strict=True):
        total += torch.bmm(weight, tile.values)
    return total
