"""Every tensor that a spec promises, with its shape: the check list of both file kinds."""

from collections.abc import Mapping

from backends.engine.spec import ModelSpec
from backends.engine.weights.faults import WeightsError

Shape = tuple[int, ...]


def shapes(spec: ModelSpec) -> dict[str, Shape]:
    """Canonical name → shape of all tensors, in file order."""
    whole: dict[str, Shape] = {"embed": (spec.vocab_size, spec.hidden)}
    for layer in range(spec.layers):
        whole |= {f"layers.{layer}.{name}": shape for name, shape in layer_shapes(spec).items()}
    whole["norm"] = (spec.hidden,)
    if not spec.tied_head:
        whole["head"] = (spec.vocab_size, spec.hidden)
    return whole


def layer_shapes(spec: ModelSpec) -> dict[str, Shape]:
    """The tensors of one layer."""
    q, kv = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    layer: dict[str, Shape] = {"attn_norm": (spec.hidden,), "mlp_norm": (spec.hidden,)}
    layer |= {"q": (q, spec.hidden), "k": (kv, spec.hidden), "v": (kv, spec.hidden), "o": (spec.hidden, q)}
    layer |= {"gate": (spec.mlp, spec.hidden), "up": (spec.mlp, spec.hidden), "down": (spec.hidden, spec.mlp)}
    if spec.qkv_bias:
        layer |= {"q_bias": (q,), "k_bias": (kv,), "v_bias": (kv,)}
    if spec.qk_norm:
        layer |= {"q_norm": (spec.head_dim,), "k_norm": (spec.head_dim,)}
    return layer


def check_shapes(spec: ModelSpec, found: Mapping[str, Shape], origin: str) -> None:
    """Raises WeightsError at the first tensor that is absent or has another shape."""
    for name, shape in shapes(spec).items():
        if name not in found:
            raise WeightsError(f"{origin}: the tensor {name} is missing; is the download complete?")
        if found[name] != shape:
            raise WeightsError(f"{origin}: the tensor {name} has shape {found[name]}, its config says {shape}")
