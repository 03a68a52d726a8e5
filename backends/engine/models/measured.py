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
_LOOKED_AT = 64
_SEQUENCES = (1, 2, 3, 4, 6, 8, 12, 16)
_HEAD_ROWS = tuple(size for size in _ROWS if size <= 32)


class Measuring:
    """Of one model, on one layer, since all have the same shapes, and on the last norm and the head, which are `logits`.

    turn: (1, 1, head_dim / 2), some position's rotation. Where the head `is_exact` its sums agree in any order, so it is no
    more than its norm, which the layer has, too.
    """

    def __init__(
        self, spec: ModelSpec, layer: Layer, logits: Callable[[Tensor], Tensor], turn: Tensor, *, is_exact: bool = False
    ) -> None:
        self._layer, self._turn, self._spec, self._is_exact = layer, turn, spec, is_exact
        self._rows = tuple(size for size in _ROWS if spec.hidden <= _WIDE or size <= 64)
        self._attention = _Attention(spec, turn.device, self._rows[-1])
        self._through = _same(self._passed, _noise(self._rows[-1], spec.hidden, device=turn.device))
        self._headed = _same(logits, _noise(_HEAD_ROWS[-1], spec.hidden, device=turn.device))

    def sizes(self) -> Sizes:
        attention = self._attention
        rows, queries = agreeing(self._rows, self._through), agreeing(self._rows, attention.same_rows)
        tile = agreeing(_TILES, attention.same_tiles(queries))
        return Sizes(
            rows=rows,
            queries=queries,
            sequences=agreeing(_SEQUENCES, attention.same_sequences(queries, tile)),
            tile=tile,
            head=tuple(size for size in rows if size in _HEAD_ROWS)
            if self._is_exact
            else agreeing(_HEAD_ROWS, self._headed),
        )

    def still_hold(self, sizes: Sizes) -> bool:
        """Whether sizes from an earlier measurement are of these, and the ends of each, the likeliest to differ, agree."""
        ends = [
            (sizes.rows, self._rows, self._through),
            (sizes.queries, self._rows, self._attention.same_rows),
            (sizes.tile, _TILES, self._attention.same_tiles(sizes.queries)),
            (sizes.sequences, _SEQUENCES, self._attention.same_sequences(sizes.queries, sizes.tile)),
            (sizes.head, _HEAD_ROWS, self._headed),
        ]
        return all(_are_some_of(found, known) for found, known, _ in ends) and all(
            found[0] == found[-1] or same(found[0], found[-1]) for found, _, same in ends
        )

    def _passed(self, hidden: Tensor) -> Tensor:
        layer, heads = self._layer, self._spec.heads
        vectors = layer.project(hidden, self._turn)
        return torch.cat([vectors.flatten(1), layer.finish(hidden.clone(), vectors[:, :heads].flatten(1))], dim=1)


def candidates() -> str:
    """What sizes are measured among, as one name."""
    return repr((_ROWS, _WIDE, _TILES, _LOOKED_AT, _SEQUENCES, _HEAD_ROWS))


def _are_some_of(found: tuple[int, ...], known: tuple[int, ...]) -> bool:
    return bool(found) and list(found) == [size for size in known if size in found]


def few(sizes: Sizes) -> Sizes:
    """Powers of two, and tiles of 128 or more: what graphs are captured for. What has none of these keeps its largest."""

    def kept(given: tuple[int, ...], least: int = 1) -> tuple[int, ...]:
        return tuple(size for size in given if size >= least and size.bit_count() == 1) or given[-1:]

    return Sizes(kept(sizes.rows), kept(sizes.queries), kept(sizes.sequences), kept(sizes.tile, 128), sizes.head)


def _same(run: Callable[[Tensor], Tensor], noise: Tensor) -> Callable[[int, int], bool]:
    """Whether `size` rows come out of `run` as they do among `top`, wherever they are taken."""
    tops: dict[int, Tensor] = {}

    def same(size: int, top: int) -> bool:
        if top not in tops:
            tops[top] = run(noise[:top])
        return all(torch.equal(run(noise[at : at + size]), tops[top][at : at + size]) for at in _windows(size, top))

    return same


def _windows(size: int, top: int) -> list[int]:
    """Starts of windows of `size` among `top` that look at 64 rows or more: a sum that differs in its last bit is seldom
    another one once it is rounded to bfloat16."""
    most = top - size
    step = max(1, most * size // _LOOKED_AT)
    return [*range(0, most, step), most]


class _Attention:
    """Random queries, keys and values of several sequences, laid out as the pool lays them out."""

    def __init__(self, spec: ModelSpec, device: torch.device, rows: int) -> None:
        self._tops: dict[int, Tensor] = {}
        self._scale, self._group = spec.head_dim**-0.5, spec.heads // spec.kv_heads
        self._queries = _noise(spec.kv_heads, 1, rows * self._group, spec.head_dim, device=device)
        self._kv = _noise(2 * spec.kv_heads, _SEQUENCES[-1], _TILES[-1], spec.head_dim, device=device)

    def same_rows(self, size: int, top: int) -> bool:
        if top not in self._tops:
            self._tops[top] = self._run(range(top), _TILES[-1], _TILES[-1])
        whole = self._tops[top]
        first = self._run(range(size), _TILES[-1], _TILES[-1])
        last = self._run(range(top - size, top), _TILES[-1], _TILES[-1])
        edge = size * self._group
        return torch.equal(first, whole[:, :, :edge]) and torch.equal(last, whole[:, :, -edge:])

    def same_tiles(self, rows: tuple[int, ...]) -> Callable[[int, int], bool]:
        """Whether a tile of `size` positions, all seen but three, gives what `top` do, for every count of rows."""

        def same(size: int, top: int) -> bool:
            return all(
                torch.equal(self._run(range(count), size, size - 3), self._run(range(count), top, size - 3))
                for count in _some(rows)
            )

        return same

    def same_sequences(self, rows: tuple[int, ...], tile: tuple[int, ...]) -> Callable[[int, int], bool]:
        """Whether `size` sequences, taken first and taken last, give what they do among `top`; few rows, as in decoding."""

        def same(size: int, top: int) -> bool:
            return all(self._same_sequences(range(rows[0]), positions, size, top) for positions in _some(tile))

        return same

    def _same_sequences(self, rows: range, positions: int, size: int, top: int) -> bool:
        whole = self._run(rows, positions, positions - 3, range(top))
        first = self._run(rows, positions, positions - 3, range(size))
        last = self._run(rows, positions, positions - 3, range(top - size, top))
        return torch.equal(first, whole[:, :size]) and torch.equal(last, whole[:, top - size :])

    def _run(self, rows: range, positions: int, seen: int, sequences: range = range(1)) -> Tensor:
        """(kv_heads, sequences, rows * group, head_dim)"""
        queries = self._queries[:, :, rows.start * self._group : rows.stop * self._group]
        queries = queries.expand(-1, len(sequences), -1, -1)
        keys, values = self._kv[:, sequences.start : sequences.stop, :positions].flatten(0, 1).chunk(2)
        mask = torch.zeros(1, queries.shape[2], positions, device=keys.device)
        mask[:, :, seen:] = float("-inf")
        tile = Tile(keys.transpose(1, 2), values)
        return attend(queries.flatten(0, 1).contiguous(), [tile], [mask], self._scale).view(queries.shape)


def _some(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return sizes[0], sizes[len(sizes) // 2], sizes[-1]


def _noise(*shape: int, device: torch.device) -> Tensor:
    drawn = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=drawn).to(device)
