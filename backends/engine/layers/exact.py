"""8-bit weights through sums of whole numbers, where the processor adds those best (VNNI)."""

from functools import cache

import torch
from torch import Tensor

from backends.engine.layers.linear import Hold, Int8, Linear, Precision, linear, unmoved

HALF = 256
MOST = 127 * HALF
"""The largest magnitude of an activation in steps: its upper half and the lower one fit a signed byte each."""


class Exact8(Int8):
    """`Int8` with activations of 16 bits, one scale for each row, as two rows of bytes: an upper half and a lower one.

    Every sum is of integers, thus exact in any order, and an activation loses less than in bfloat16. oneDNN keeps a copy of
    the codes in its own layout.
    """

    def __init__(self, weight: Tensor, hold: Hold = unmoved) -> None:
        super().__init__(weight, hold)
        self._packed = torch.ops.onednn.qlinear_prepack(self.codes, None)
        self._steps = self.scales.float()
        self._middles = torch.zeros(len(weight), dtype=torch.int32)

    def __call__(self, rows: Tensor) -> Tensor:
        """(m, columns) → float32 (m, outputs)"""
        steps = rows.abs().amax(-1, keepdim=True).div_(MOST).clamp_min_(torch.finfo(torch.float32).tiny)
        whole = rows.div(steps).round_()
        upper = whole.add(128).div_(HALF).floor_()
        halves = torch.cat([upper, whole.sub_(upper, alpha=HALF)])
        sums = _product(halves.add_(128).to(torch.uint8), self._packed, self._steps, self._middles)
        above, below = sums.chunk(2)
        return below.add_(above, alpha=HALF).mul_(steps)


def head(weight: Tensor, precision: Precision, hold: Hold) -> Linear:
    """The product of hidden states with the vocabulary: in 8 bits where layers have 4."""
    if precision in ("int8", "int4") and weight.is_cpu and sums_are_exact():
        return Exact8(weight, hold)
    return linear(weight, "int8" if precision == "int4" else precision, hold)


@cache
def sums_are_exact() -> bool:
    """Whether this machine's product of bytes has the sums that arithmetic has: without VNNI pairs of products may saturate."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    codes = torch.full((32, 64), 127, dtype=torch.int8)
    packed = torch.ops.onednn.qlinear_prepack(codes, None)
    bytes_ = torch.full((2, 64), 255, dtype=torch.uint8)
    found = _product(bytes_, packed, torch.ones(32), torch.zeros(32, dtype=torch.int32))
    return bool((found == 64 * 127 * 127).all())


def _product(bytes_: Tensor, packed: Tensor, steps: Tensor, middles: Tensor) -> Tensor:
    """Bytes around 128 times codes, each output times its step, in float32."""
    product: Tensor = torch.ops.onednn.qlinear_pointwise(
        bytes_, 1.0, 128, packed, steps, middles, None, 1.0, 0, torch.float32, "none", [], ""
    )
    return product
