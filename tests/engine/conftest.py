"""Tiny random models for the engine's laws: real attention over a real paged KV, in milliseconds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
import torch
from random_models import random_source, random_spec

from backends.engine.api import LanguageModel
from backends.engine.models import native_model
from backends.engine.models.torch_model import TorchModel

torch.set_num_threads(1)

BUILDERS: dict[str, Callable[..., LanguageModel]] = {
    "torch": lambda spec, seed, precision, blocks: TorchModel(spec, random_source(spec, seed), precision, blocks),
    "native": lambda spec, seed, precision, blocks: native_model.NativeModel(
        spec, random_source(spec, seed), precision, blocks, threads=1
    ),
}


@cache
def built(kind: str, precision: str, blocks: int, seed: int) -> LanguageModel:
    """The same one every time: what earlier batches left in the KV is noise to the next."""
    return BUILDERS[kind](random_spec(vocab_size=512, context=2304), seed, precision, blocks)


@dataclass(frozen=True)
class Tiny:
    """The `random` fixture of the cases: 2 layers, width 64, vocabulary 512."""

    kind: str
    precision: str

    def __call__(self, *, blocks: int = 64, seed: int = 0) -> LanguageModel:
        return built(self.kind, self.precision, blocks, seed)


@pytest.fixture(
    scope="session", params=["torch-float32", "torch-int8", "native-float32", "native-bfloat16", "native-int4"]
)
def tiny(request: pytest.FixtureRequest) -> Tiny:
    kind, precision = request.param.split("-")
    if kind == "native" and (why := native_model.why_unavailable()):
        pytest.skip(f"no native kernels here: {why}")
    return Tiny(kind, precision)
