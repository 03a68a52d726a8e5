"""What a config may claim. Wide enough for every published model of these families, narrow enough to refuse nonsense."""

from backends.engine.spec import ModelSpec
from backends.engine.weights.faults import WeightsError

LAYERS = 1024
WIDTH = 1 << 17
HEADS = 1024
VOCABULARY = 1 << 21
CONTEXT = 1 << 24
JSON_BYTES = 64 << 20


def check_spec(spec: ModelSpec, origin: str) -> ModelSpec:
    """Relations between numbers that are each in bounds. Raises WeightsError."""
    if spec.heads % spec.kv_heads:
        raise WeightsError(f"{origin}: {spec.heads} query heads do not divide among {spec.kv_heads} key-value heads")
    if spec.head_dim % 2:
        raise WeightsError(f"{origin}: the head size {spec.head_dim} is odd; rotary positions need pairs")
    strays = [i for i in spec.eos_ids if i >= spec.vocab_size]
    if strays:
        raise WeightsError(f"{origin}: the end token {strays[0]} lies outside the vocabulary of {spec.vocab_size}")
    return spec
