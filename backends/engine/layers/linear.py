"""y = W x for rows of activations, one class for each way of storing W. Each returns its own compute type."""

from collections.abc import Callable
from typing import Literal, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from backends.engine.layers.quantise import GROUP, Groups4, to_int4, to_int8

Precision = Literal["float32", "bfloat16", "int8", "int4"]


Hold = Callable[[Tensor], Tensor]


def unmoved(tensor: Tensor) -> Tensor:
    return tensor.contiguous()


class Linear(Protocol):
    """Rows (m, columns) of any float type → (m, outputs)."""

    def __call__(self, rows: Tensor) -> Tensor: ...


class Dense:
    """Plain weights through the library's own product."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight

    def __call__(self, rows: Tensor) -> Tensor:
        return F.linear(rows.to(self.weight.dtype), self.weight)


class Packed:
    """Plain weights in oneDNN's blocked layout: up to twice as fast for few rows, and the same bits for nearly all counts."""

    def __init__(self, weight: Tensor) -> None:
        self.dtype = weight.dtype
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)

    def __call__(self, rows: Tensor) -> Tensor:
        product: Tensor = torch.ops.mkldnn._linear_pointwise(rows.to(self.dtype), self.packed, None, "none", [], "")
        return product


class Int8:
    """8-bit rows, bfloat16 activations. Off the CPU the codes are widened as they are used."""

    def __init__(self, weight: Tensor, hold: Hold = unmoved) -> None:
        stored = to_int8(weight)
        self.codes, self.scales = hold(stored.codes), hold(stored.scales)

    def __call__(self, rows: Tensor) -> Tensor:
        rows = rows.bfloat16()
        if rows.is_cpu:
            return torch._weight_int8pack_mm(rows, self.codes, self.scales)
        return F.linear(rows, self.codes.bfloat16()) * self.scales

    def rows(self, index: Tensor) -> Tensor:
        """Rows of W itself as float32, for a table that is both embedding and head."""
        return self.codes.index_select(0, index).float().mul_(self.scales.index_select(0, index).float()[:, None])


class Table:
    """Rows to look up, as they are stored."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight

    def rows(self, index: Tensor) -> Tensor:
        """float32 (m, columns)."""
        return self.weight.index_select(0, index).float()


class Int4:
    """4-bit groups, bfloat16 activations, on the CPU."""

    def __init__(self, weight: Tensor, hold: Hold = unmoved) -> None:
        stored = to_int4(weight)
        self.packed = hold(torch._convert_weight_to_int4pack_for_cpu(stored.codes.int(), 1))
        self.scales = hold(torch.stack([stored.scales.t(), stored.middles.t()], dim=-1))

    def __call__(self, rows: Tensor) -> Tensor:
        return torch._weight_int4pack_mm_for_cpu(rows.bfloat16(), self.packed, GROUP, self.scales)


class Int4Widened:
    """4-bit groups where no kernel takes them: two codes in a byte, widened as they are used."""

    def __init__(self, weight: Tensor) -> None:
        stored = to_int4(weight)
        self.pairs = stored.codes[:, 0::2] | stored.codes[:, 1::2] << 4
        self.scales, self.middles = stored.scales, stored.middles

    def __call__(self, rows: Tensor) -> Tensor:
        codes = torch.stack([self.pairs & 15, self.pairs >> 4], dim=-1).flatten(1)
        return F.linear(rows.bfloat16(), Groups4(codes, self.scales, self.middles).dense().bfloat16())


def linear(weight: Tensor, precision: Precision, hold: Hold = unmoved) -> Linear:
    """The fastest form of W (outputs, columns) for its device. Shapes that 4 bits do not fit are kept in 8.

    `hold` says where integers lie; oneDNN keeps its own.
    """
    if precision == "int8" or (precision == "int4" and not fits_int4(weight)):
        return Int8(weight, hold)
    if precision == "int4":
        return Int4(weight, hold) if weight.is_cpu else Int4Widened(weight)
    weight = weight.to(torch.float32 if precision == "float32" else torch.bfloat16)
    return Packed(weight) if weight.is_cpu and _packs(weight.dtype) else Dense(weight)


def fits_int4(weight: Tensor) -> bool:
    return weight.shape[1] % GROUP == 0 and weight.shape[0] % 16 == 0


def _packs(dtype: torch.dtype) -> bool:
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    return dtype == torch.float32 or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
