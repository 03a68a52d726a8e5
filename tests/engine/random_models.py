"""Tiny random models: a spec, and weights drawn from a seed, so that every path of the engine runs in milliseconds."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from backends.engine.spec import Family, ModelSpec
from backends.engine.weights.shapes import shapes


def random_spec(family: Family = "llama", **changes: object) -> ModelSpec:
    """Two layers, four query heads over two key-value heads, a vocabulary of 320. Widths suit every precision."""
    sizes: dict[str, object] = {
        "family": family,
        "layers": 2,
        "hidden": 64,
        "heads": 4,
        "kv_heads": 2,
        "head_dim": 16,
        "mlp": 96,
        "vocab_size": 320,
        "context": 512,
        "rope_theta": 10000.0,
        "rms_eps": 1e-5,
        "tied_head": True,
        "qkv_bias": family == "qwen2",
        "qk_norm": family == "qwen3",
        "eos_ids": (2,),
        "bos_id": 1,
    }
    return ModelSpec(**(sizes | changes))  # type: ignore[arg-type]  # a test's own keywords


@dataclass
class RandomSource:
    """Each tensor is drawn from (seed, name) alone, whatever is asked first. Norms lie around one, the rest around zero."""

    spec: ModelSpec
    seed: int = 0
    drawn: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def tensor(self, name: str) -> NDArray[np.float32]:
        if name not in self.drawn:
            shape = shapes(self.spec)[name]
            values = np.random.default_rng([self.seed, *name.encode()]).standard_normal(shape, dtype=np.float32)
            scale = 0.3 if len(shape) == 1 else 2.0 / np.sqrt(shape[-1])
            self.drawn[name] = np.float32("norm" in name) + np.float32(scale) * values
        return self.drawn[name]


def random_source(spec: ModelSpec, seed: int = 0) -> RandomSource:
    return RandomSource(spec, seed)
