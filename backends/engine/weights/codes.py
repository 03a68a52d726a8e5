"""Weights as integers: what files hold and what models compute with. Pure functions on arrays.

Along each row 32 values share a float16 scale, in int4 a float16 minimum too; both are rounded first, and the codes chosen for
the rounded ones. int8: value = code * scale. int4: value = code * scale + minimum, GGUF's Q4_1 without loss. The native
kernels' packing rounds alike, bit for bit.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GROUP = 32
_AT_ONCE = 1 << 18
"""Values per piece, so that the passes over them stay in the cache."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Codes:
    """A matrix (rows, columns). `values`: int8 (rows, columns), or uint8 (rows, columns / 2, rounded up) with two codes in
    a byte, the earlier in the low half. `scales`, `minima`: float16 (rows, columns / 32, rounded up); no minima in int8."""

    columns: int
    values: NDArray[np.int8] | NDArray[np.uint8]
    scales: NDArray[np.float16]
    minima: NDArray[np.float16] | None = None

    @property
    def is_finite(self) -> bool:
        """Whether every code stands for a finite number."""
        return all(np.isfinite(part).all() for part in (self.scales, self.minima) if part is not None)

    def dense(self) -> Floats:
        """What the codes stand for: (rows, columns) float32."""
        levels = self.values if self.minima is None else _nibbles(self.values, self.columns)
        whole = np.pad(levels, ((0, 0), (0, -self.columns % GROUP))).reshape(*self.scales.shape, GROUP)
        values = whole * self.scales.astype(np.float32)[..., None]
        if self.minima is not None:
            values += self.minima.astype(np.float32)[..., None]
        return np.ascontiguousarray(_flat(values, self.columns))


def to_int8(weight: Floats) -> Codes:
    """Each group to the nearest of 255 levels; a group of zeros has scale zero."""
    return _by_rows(weight, _int8)


def to_int4(weight: Floats) -> Codes:
    """Each group to the nearest of 16 levels between its least and its greatest value."""
    return _by_rows(weight, _int4)


def bfloat16_bits(values: Floats) -> NDArray[np.uint16]:
    """Rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values).view(np.uint32).reshape(-1)
    upper = np.empty(len(bits), np.uint16)
    for at in range(0, len(bits), _AT_ONCE):
        part = bits[at : at + _AT_ONCE]
        upper[at : at + _AT_ONCE] = (part + np.uint32(0x7FFF) + ((part >> 16) & 1)) >> 16
    return upper.reshape(values.shape)


def from_bfloat16(bits: NDArray[np.uint16]) -> Floats:
    return np.left_shift(bits, np.uint32(16), dtype=np.uint32).view(np.float32)


def _int8(weight: Floats) -> Codes:
    grouped = _grouped(weight)
    scales = (np.abs(grouped).max(axis=2) / np.float32(127)).astype(np.float16)
    levels = _levels(grouped, scales).clip(-127, 127)
    return Codes(weight.shape[1], _flat(levels, weight.shape[1]).astype(np.int8), scales)


def _int4(weight: Floats) -> Codes:
    grouped = _grouped(weight)
    low, high = grouped.min(axis=2), grouped.max(axis=2)
    scales, minima = ((high - low) / np.float32(15)).astype(np.float16), low.astype(np.float16)
    levels = _levels(grouped - minima.astype(np.float32)[..., None], scales).clip(0, 15)
    return Codes(weight.shape[1], _pairs(_flat(levels, weight.shape[1]).astype(np.uint8)), scales, minima)


def _grouped(weight: Floats) -> Floats:
    """(rows, groups, 32); the last group repeats its last value, which changes no extreme."""
    rows, columns = weight.shape
    if columns % GROUP:
        weight = np.pad(weight, ((0, 0), (0, -columns % GROUP)), mode="edge")
    return weight.reshape(rows, -1, GROUP)


def _levels(values: Floats, scales: NDArray[np.float16]) -> Floats:
    steps = scales.astype(np.float32)[..., None]
    return np.rint(np.divide(values, steps, out=np.zeros_like(values), where=steps > 0))


def _flat(levels: Floats, columns: int) -> Floats:
    return levels.reshape(len(levels), -1)[:, :columns]


def _pairs(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    even = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)))
    return (even[:, 0::2] | even[:, 1::2] << 4).astype(np.uint8, copy=False)


def _nibbles(pairs: NDArray[np.int8] | NDArray[np.uint8], columns: int) -> NDArray[np.uint8]:
    pairs = pairs.astype(np.uint8, copy=False)
    return np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(len(pairs), -1)[:, :columns]


def _by_rows(weight: Floats, quantise: Callable[[Floats], Codes]) -> Codes:
    rows = max(1, _AT_ONCE // weight.shape[1])
    parts = [quantise(weight[at : at + rows]) for at in range(0, len(weight), rows)]
    minima = [part.minima for part in parts if part.minima is not None]
    return Codes(
        weight.shape[1],
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate(minima) if minima else None,
    )
