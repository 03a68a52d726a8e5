"""Canonical names of tensors, and those of Hugging Face files."""

from typing import Final

_OUTER: Final = {"model.embed_tokens.weight": "embed", "model.norm.weight": "norm", "lm_head.weight": "head"}
_INNER: Final = {
    "input_layernorm.weight": "attn_norm", "post_attention_layernorm.weight": "mlp_norm",
    "self_attn.q_proj.weight": "q", "self_attn.k_proj.weight": "k", "self_attn.v_proj.weight": "v",
    "self_attn.q_proj.bias": "q_bias", "self_attn.k_proj.bias": "k_bias", "self_attn.v_proj.bias": "v_bias",
    "self_attn.q_norm.weight": "q_norm", "self_attn.k_norm.weight": "k_norm", "self_attn.o_proj.weight": "o",
    "mlp.gate_proj.weight": "gate", "mlp.up_proj.weight": "up", "mlp.down_proj.weight": "down",
}  # fmt: skip
_LAYER = "model.layers."
_OWN = {canonical: own for own, canonical in (_OUTER | _INNER).items()}


def canonical_name(own: str) -> str | None:
    """None for a tensor that no supported model has.

    >>> canonical_name("model.layers.3.mlp.up_proj.weight")
    'layers.3.up'
    """
    if own in _OUTER:
        return _OUTER[own]
    layer, _, rest = own.removeprefix(_LAYER).partition(".")
    return f"layers.{layer}.{_INNER[rest]}" if own.startswith(_LAYER) and rest in _INNER else None


def own_name(canonical: str) -> str:
    """The way back."""
    place, _, short = canonical.rpartition(".")
    return f"model.{place}.{_OWN[short]}" if place else _OWN[short]
