"""Weights in fewer bits as torch's own kernels take them. Pure functions: float32 in, codes and scales out, and back again.

What a precision means for a model, on torch too, is said by `codes.py`: these forms are made of what that gives.
int8: one scale for each row. int4: a scale and a midpoint for each group of 32 along a row. Scales are rounded to bfloat16
first, as the kernels store them, and the codes are chosen for the rounded ones.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

GROUP = 32
"""Values that share a scale in int4: the group of GGUF's own 4-bit kinds, so their values are met again almost exactly."""


@dataclass(frozen=True, slots=True)
class Rows8:
    """codes (rows, columns) int8, scales (rows,) bfloat16: value = code * scale."""

    codes: Tensor
    scales: Tensor

    def dense(self) -> Tensor:
        return self.codes.float() * self.scales.float()[:, None]


@dataclass(frozen=True, slots=True)
class Groups4:
    """codes (rows, columns) uint8 in 0..15; scales, middles (rows, columns / 32) bfloat16.

    value = (code - 8) * scale + middle.
    """

    codes: Tensor
    scales: Tensor
    middles: Tensor

    def dense(self) -> Tensor:
        rows, columns = self.codes.shape
        steps = self.codes.view(rows, columns // GROUP, GROUP).float() - 8
        return (steps * self.scales.float()[..., None] + self.middles.float()[..., None]).view(rows, columns)


def to_int8(weight: Tensor) -> Rows8:
    """Round to the nearest of 255 levels of each row. A row of zeros has scale zero."""
    scales = (weight.abs().amax(dim=1) / 127).bfloat16()
    steps = scales.float().clamp_min(torch.finfo(torch.float32).tiny)
    return Rows8((weight / steps[:, None]).round_().clamp_(-127, 127).to(torch.int8), scales)


def to_int4(weight: Tensor) -> Groups4:
    """Round to the nearest of 16 levels between the least and the greatest of each group. Raises ValueError on a ragged row."""
    rows, columns = weight.shape
    if columns % GROUP:
        raise ValueError(f"{columns} columns do not divide into groups of {GROUP}")
    grouped = weight.view(rows, columns // GROUP, GROUP)
    low, high = grouped.aminmax(dim=2)
    scales = ((high - low) / 15).bfloat16()
    middles = (low + 8 * scales.float()).bfloat16()
    steps = scales.float().clamp_min(torch.finfo(torch.float32).tiny)
    codes = ((grouped - middles.float()[..., None]) / steps[..., None]).round_().add_(8).clamp_(0, 15)
    return Groups4(codes.to(torch.uint8).view(rows, columns), scales, middles)
