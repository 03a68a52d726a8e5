"""One decoder layer without its attention: everything that looks at a row alone."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from backends.engine.layers.linear import Hold, Precision, linear, unmoved
from backends.engine.layers.norm import RmsNorm
from backends.engine.spec import ModelSpec, TensorSource


class Layer:
    """Queries, keys and values fused in one product, gate and up in another. The residual stream stays float32.

    Rotary pairs lie side by side here, so that turning them is one complex product; queries and keys are reordered alike,
    which leaves their dot products as they were.
    """

    def __init__(
        self,
        spec: ModelSpec,
        source: TensorSource,
        index: int,
        precision: Precision,
        device: torch.device,
        *,
        hold: Hold = unmoved,
    ) -> None:
        def read(name: str) -> Tensor:
            return torch.from_numpy(source.tensor(f"layers.{index}.{name}")).to(device)

        self.spec = spec
        self._turned = spec.heads + spec.kv_heads
        qkv = torch.cat([side_by_side(read("q"), spec.heads), side_by_side(read("k"), spec.kv_heads), read("v")])
        self.qkv = linear(qkv, precision, hold)
        self.o, self.down = linear(read("o"), precision, hold), linear(read("down"), precision, hold)
        self.gate_up = linear(torch.cat([read("gate"), read("up")]), precision, hold)
        self.attn_norm = RmsNorm(read("attn_norm"), spec.rms_eps)
        self.mlp_norm = RmsNorm(read("mlp_norm"), spec.rms_eps)
        self.bias = _bias(spec, read) if spec.qkv_bias else None
        self.qk_norm = RmsNorm(_head_norms(spec, read), spec.rms_eps) if spec.qk_norm else None

    def project(self, hidden: Tensor, turns: Tensor) -> Tensor:
        """(m, hidden) → (m, heads + 2 * kv_heads, head_dim) float32: q, k turned by their positions, and v."""
        spec = self.spec
        mixed = self.qkv(self.attn_norm(hidden)).float()
        if self.bias is not None:
            mixed += self.bias
        vectors = mixed.view(-1, spec.heads + 2 * spec.kv_heads, spec.head_dim)
        pairs = vectors[:, : self._turned]
        if self.qk_norm is not None:
            pairs.copy_(self.qk_norm(pairs))
        torch.view_as_complex(pairs.view(-1, self._turned, spec.head_dim // 2, 2)).mul_(turns)
        return vectors

    def finish(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """Adds the attention's and the MLP's part to the residual stream, in place."""
        hidden += self.o(attended)
        both = self.gate_up(self.mlp_norm(hidden))
        hidden += self.down(F.silu(both[..., : self.spec.mlp]).mul_(both[..., self.spec.mlp :]))
        return hidden


def side_by_side(rows: Tensor, heads: int) -> Tensor:
    """Rows of each head from (side, pair) to (pair, side)."""
    size = len(rows) // heads // 2
    return rows.view(heads, 2, size, *rows.shape[1:]).transpose(1, 2).reshape(rows.shape)


def _bias(spec: ModelSpec, read: Callable[[str], Tensor]) -> Tensor:
    q, k = side_by_side(read("q_bias"), spec.heads), side_by_side(read("k_bias"), spec.kv_heads)
    return torch.cat([q, k, read("v_bias")])


def _head_norms(spec: ModelSpec, read: Callable[[str], Tensor]) -> Tensor:
    """(heads + kv_heads, head_dim): the one weight of all query heads, then that of all key heads."""
    q, k = side_by_side(read("q_norm"), 1), side_by_side(read("k_norm"), 1)
    return torch.cat([q.expand(spec.heads, -1), k.expand(spec.kv_heads, -1)])
