"""The agreeing sizes of one model on this machine: see `layers.agreement`."""

from collections.abc import Callable

import torch
from torch import Tensor

from backends.engine.layers.agreement import agreeing
from backends.engine.layers.attention import Tile, attend
from backends.engine.layers.decoder import Layer
from backends.engine.models.plan import Sizes
from backends.engine.spec import ModelSpec

_ROWS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256)
_WIDE = 2048
"""Above this width a layer is dear enough that passes of 64 rows already hide its cost, and measuring stays short."""
_TILES = tuple(range(16, 513, 16))
_HEAD_ROWS = tuple(size for size in _ROWS if size <= 32)


def measured_sizes(spec: ModelSpec, layer: Layer, turn: Tensor) -> Sizes:
    """Measured on one layer, since all have the same shapes. turn: (1, 1, head_dim / 2), some position's rotation."""
    rows = tuple(size for size in _ROWS if spec.hidden <= _WIDE or size <= 64)
    queries = spec.heads * spec.head_dim

    def through(hidden: Tensor) -> Tensor:
        mixed = layer.project(hidden, turn)
        return torch.cat([mixed, layer.finish(hidden.clone(), mixed[:, :queries])], dim=1)

    attention = _Attention(spec, turn.device, rows[-1])
    chosen = agreeing(rows, attention.same_rows)
    return Sizes(
        rows=agreeing(rows, _same(through, _noise(rows[-1], spec.hidden, device=turn.device))),
        queries=chosen,
        tile=agreeing(_TILES, attention.same_tiles(chosen)),
    )


def head_sizes(spec: ModelSpec, logits: Callable[[Tensor], Tensor], device: torch.device) -> tuple[int, ...]:
    """Agreeing row counts of the last norm and the head."""
    return agreeing(_HEAD_ROWS, _same(logits, _noise(_HEAD_ROWS[-1], spec.hidden, device=device)))


def _same(run: Callable[[Tensor], Tensor], noise: Tensor) -> Callable[[int, int], bool]:
    """Whether `size` rows, taken first and taken last, come out of `run` as they do among `top`."""
    tops: dict[int, Tensor] = {}

    def same(size: int, top: int) -> bool:
        if top not in tops:
            tops[top] = run(noise[:top])
        whole = tops[top]
        first, last = run(noise[:size]), run(noise[top - size : top])
        return torch.equal(first, whole[:size]) and torch.equal(last, whole[top - size :])

    return same


class _Attention:
    """Random queries, keys and values, the latter strided as the pool strides them."""

    def __init__(self, spec: ModelSpec, device: torch.device, rows: int) -> None:
        self._group, self._scale = spec.heads // spec.kv_heads, spec.head_dim**-0.5
        self._queries = _noise(spec.kv_heads, rows * self._group, spec.head_dim, device=device)
        self._kv = _noise(_TILES[-1], 2, spec.kv_heads, spec.head_dim, device=device)

    def same_rows(self, size: int, top: int) -> bool:
        whole = self._run(0, top, _TILES[-1], _TILES[-1])
        first, last = self._run(0, size, _TILES[-1], _TILES[-1]), self._run(top - size, top, _TILES[-1], _TILES[-1])
        edge = size * self._group
        return torch.equal(first, whole[:, :edge]) and torch.equal(last, whole[:, -edge:])

    def same_tiles(self, rows: tuple[int, ...]) -> Callable[[int, int], bool]:
        """Whether a tile of `size` positions, all seen but three, gives what `top` do, for every count of rows."""

        def same(size: int, top: int) -> bool:
            return all(
                torch.equal(self._run(0, count, size, size - 3), self._run(0, count, top, size - 3))
                for count in (rows[0], rows[len(rows) // 2], rows[-1])
            )

        return same

    def _run(self, start: int, end: int, positions: int, seen: int) -> Tensor:
        keys, values = self._kv[:positions].unbind(1)
        mask = torch.zeros((end - start) * self._group, positions, device=keys.device)
        mask[:, seen:] = float("-inf")
        queries = self._queries[:, start * self._group : end * self._group].contiguous()
        return attend(queries, [Tile(keys.permute(1, 2, 0), values.transpose(0, 1))], [mask], self._scale)


def _noise(*shape: int, device: torch.device) -> Tensor:
    drawn = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=drawn).to(device)
