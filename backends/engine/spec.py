"""A decoder-only transformer described: its numbers, and the canonical names of its tensors."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from backends.engine.weights.codes import Codes
    from policies.catalogue import Precision

Family = Literal["llama", "mistral", "qwen2", "qwen3"]


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """Llama 3's frequency scaling (config.json `rope_scaling` of type llama3)."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Sizes and switches of one model. `qkv_bias` for Qwen2, `qk_norm` (per-head RMS norm of q and k) for Qwen3."""

    family: Family
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp: int
    vocab_size: int
    context: int
    rope_theta: float
    rms_eps: float
    tied_head: bool
    qkv_bias: bool = False
    qk_norm: bool = False
    rope_scaling: RopeScaling | None = None
    sliding_window: int | None = None
    eos_ids: tuple[int, ...] = ()
    bos_id: int | None = None


class TensorSource(Protocol):
    """Weights by canonical name, memory-mapped behind the scenes.

    Names: embed (vocab, hidden); norm (hidden,); head (vocab, hidden), absent when tied; for each layer i
    `layers.{i}.` + attn_norm, mlp_norm (hidden,); q (heads*head_dim, hidden); k, v (kv_heads*head_dim, hidden);
    o (hidden, heads*head_dim); gate, up (mlp, hidden); down (hidden, mlp); q_bias, k_bias, v_bias with `qkv_bias`;
    q_norm, k_norm (head_dim,) with `qk_norm`. Rows are outputs: y = W @ x. Rotary pairs are in the Hugging Face order
    (first half, second half), whatever the file's own order.
    """

    def tensor(self, name: str) -> "NDArray[np.float32]":
        """The tensor as contiguous float32. Raises KeyError with the name when the file lacks it."""
        ...


@runtime_checkable
class CodedSource(TensorSource, Protocol):
    """Weights that are integers already, those of a model of one precision: norms and biases are float32, embeddings
    bfloat16, all other matrices codes, a tied head too."""

    @property
    def precision(self) -> "Precision": ...

    def codes(self, name: str) -> "Codes":
        """A matrix but for the embeddings. Raises KeyError."""
        ...
