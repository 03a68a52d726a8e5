"""The native kernels compute the transformer that float64 numpy computes, on every variant this CPU runs."""

from itertools import product

import numpy as np
import pytest
from native_reference import (
    KV_PRECISIONS,
    PRECISIONS,
    RUNNABLE,
    Piece,
    divergence,
    reference_logits,
    run_step,
    tables_for,
)
from numpy.typing import NDArray
from random_models import RandomSource, random_spec

from backends.engine.kernels.cpu import Variant
from backends.engine.models.native_model import NativeModel, why_unavailable
from backends.engine.models.torch_model import TorchModel
from backends.engine.spec import ModelSpec, RopeScaling

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=f"no native kernels: {why_unavailable()}")

variants = pytest.mark.parametrize("variant", RUNNABLE, ids=lambda variant: variant.name)

SHAPES = {
    "llama": random_spec(),
    "qwen2, with biases": random_spec("qwen2"),
    "qwen3, with norms of q and k": random_spec("qwen3", head_dim=32),
    "llama 3's stretched rotation": random_spec(rope_scaling=RopeScaling(8.0, 1.0, 4.0, 64)),
    "a head of its own": random_spec(tied_head=False),
    "sizes that fill no panel": random_spec(hidden=48, heads=3, kv_heads=1, mlp=80, vocab_size=323),
    "three heads of 64 to one": random_spec(hidden=192, heads=3, kv_heads=1, head_dim=64),
    "seven heads to one": random_spec(hidden=112, heads=7, kv_heads=1),
    "sixteen heads to one": random_spec(hidden=64, heads=16, kv_heads=1),
    "a head of 80": random_spec(hidden=160, heads=2, kv_heads=2, head_dim=80),
}


def some_tokens(spec: ModelSpec, count: int) -> list[int]:
    return np.random.default_rng(count).integers(0, spec.vocab_size, count).tolist()


def native_logits(
    spec: ModelSpec, variant: Variant, precision: str, tokens: list[int], kv: str = "native"
) -> NDArray[np.float32]:
    model = NativeModel(
        spec,
        RandomSource(spec),
        precision,
        24,
        2,
        kv_precision=kv,
        variant=variant,  # type: ignore[arg-type]
    )
    try:
        return run_step(model, [tokens], tables_for([tokens]), [Piece(0, 0, len(tokens))])
    finally:
        model.close()


@variants
@pytest.mark.parametrize("spec", SHAPES.values(), ids=SHAPES.keys())
def test_float32_gives_the_logits_of_a_float64_reference(spec: ModelSpec, variant: Variant) -> None:
    tokens = some_tokens(spec, 150)

    logits = native_logits(spec, variant, "float32", tokens)

    reference = reference_logits(spec, RandomSource(spec), tokens)
    assert np.abs(logits - reference).max() < 1e-4 * np.abs(reference).max()


@variants
def test_a_sequence_longer_than_several_chunks_of_attention_is_right_to_its_end(variant: Variant) -> None:
    spec = random_spec()
    tokens = some_tokens(spec, 300)

    logits = native_logits(spec, variant, "float32", tokens)

    reference = reference_logits(spec, RandomSource(spec), tokens)
    assert np.abs(logits - reference).max() < 1e-4 * np.abs(reference).max()


BOUNDS = {"float32": 1e-9, "bfloat16": 5e-3, "int8": 3e-2, "int4": 1.5}
"""Kullback-Leibler divergence, nats: random weights have no groups that 4 bits describe well, real ones do."""


@variants
@pytest.mark.parametrize("precision", PRECISIONS)
def test_rounded_weights_stay_near_the_reference(precision: str, variant: Variant) -> None:
    spec = random_spec(hidden=128, mlp=256)
    tokens = some_tokens(spec, 120)

    logits = native_logits(spec, variant, precision, tokens)

    assert divergence(reference_logits(spec, RandomSource(spec), tokens), logits) < BOUNDS[precision]


@variants
@pytest.mark.parametrize("spec", SHAPES.values(), ids=SHAPES.keys())
def test_keys_and_values_in_int8_are_those_that_torch_keeps(spec: ModelSpec, variant: Variant) -> None:
    tokens = some_tokens(spec, 150)
    torch_model = TorchModel(spec, RandomSource(spec), "float32", 24, kv_precision="int8")
    plan = [tokens], tables_for([tokens]), [Piece(0, 0, len(tokens))]
    theirs = run_step(torch_model, *plan).astype(np.float64)

    ours = native_logits(spec, variant, "float32", tokens, "int8")

    plain = reference_logits(spec, RandomSource(spec), tokens)
    assert divergence(theirs, ours) < 0.2 * divergence(plain, ours)
    assert divergence(plain, ours) < 5e-3


class FourBitSource(RandomSource):
    """Weights that a GGUF file of Q4_1 would hold: per 32 inputs sixteen levels from a minimum, both fp16."""

    def tensor(self, name: str) -> NDArray[np.float32]:
        drawn = super().tensor(name)
        if drawn.ndim == 1 or name in ("embed", "head"):
            return drawn
        groups = drawn.reshape(len(drawn), -1, 32)
        low, high = groups.min(-1, keepdims=True), groups.max(-1, keepdims=True)
        minimum, step = low.astype(np.float16).astype(np.float32), ((high - low) / 15).astype(np.float16)
        levels = np.clip(np.rint((groups - low) / (high - low) * 15), 0, 15)
        return np.ascontiguousarray((levels * step.astype(np.float32) + minimum).reshape(drawn.shape))


@variants
def test_weights_that_were_four_bits_lose_nothing_in_int4(variant: Variant) -> None:
    spec = random_spec(hidden=128, mlp=256)
    source, tokens = FourBitSource(spec), some_tokens(spec, 120)
    model = NativeModel(spec, source, "int4", 24, 2, variant=variant)

    logits = run_step(model, [tokens], tables_for([tokens]), [Piece(0, 0, len(tokens))])
    model.close()

    assert divergence(reference_logits(spec, source, tokens), logits) < 1e-2


@pytest.mark.parametrize(("precision", "kv"), list(product(PRECISIONS, KV_PRECISIONS)))
def test_all_variants_of_this_cpu_give_nearly_the_same_logits(precision: str, kv: str) -> None:
    spec = random_spec(hidden=128, mlp=256)
    tokens = some_tokens(spec, 60)

    fastest, *others = (native_logits(spec, variant, precision, tokens, kv) for variant in RUNNABLE)

    for other in others:
        assert divergence(fastest.astype(np.float64), other) < (
            1e-9 if (precision, kv) == ("float32", "native") else 1e-3
        )
