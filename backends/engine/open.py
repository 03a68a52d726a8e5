"""From a policy's `run:` to an upstream: weights, model, engine, wired."""

import time
from pathlib import Path

from backends.engine.api import BLOCK_TOKENS, LanguageModel
from backends.engine.batch import Batch
from backends.engine.courier import Courier
from backends.engine.draft.costs import StepCosts
from backends.engine.draft.ngram import NgramDrafter
from backends.engine.grammar.compile import Grammars
from backends.engine.local import LocalUpstream
from backends.engine.loop import Engine
from backends.engine.scheduler import Budget
from backends.engine.speculate import Speculator
from backends.engine.weights.opening import OpenedWeights, open_weights
from policies.catalogue import Run

MAX_WAITING = 256
"""Jobs beyond `max_running` that may wait; a longer line is answered with an error at once, not with a timeout late."""


def open_engine(run: Run, path: Path, *, output_tokens: int | None = None) -> LocalUpstream:
    """Reads what describes the model and its tokenizer now, loads and warms the model in the background.

    `path` is a directory or a GGUF file. Raises what `open_weights` raises. `LocalUpstream.load` tells when it is ready.
    """
    weights = open_weights(path)
    courier = Courier()
    revision = f"{weights.revision}/{run.precision}"
    engine = Engine(
        lambda: _batch(run, weights, revision),
        max_jobs=run.max_running + MAX_WAITING,
        step_ended=courier.step_ended,
        name=f"engine {run.weights}",
    )
    return LocalUpstream(
        engine,
        courier,
        weights.tokenizer,
        revision=revision,
        window=min(weights.spec.context, _blocks(run) * BLOCK_TOKENS),
        output_tokens=output_tokens,
        grammars=Grammars(weights.tokenizer, weights.spec.vocab_size) if weights.tokenizer.eos_ids else None,
    )


def _batch(run: Run, weights: OpenedWeights, revision: str) -> Batch:
    costs = StepCosts()
    return Batch(
        model_of(run, weights),
        weights.tokenizer,
        revision=revision,
        budget=Budget(max_running=run.max_running),
        clock=time.perf_counter,
        speculator=Speculator(NgramDrafter(), run.max_draft, costs) if run.speculate == "ngram" else None,
        costs=costs,
    )


def model_of(run: Run, weights: OpenedWeights) -> LanguageModel:
    """Native kernels where they can be built, else torch; both give a row's logits whatever its batch."""
    from backends.engine.models import native_model

    if native_model.available_for(weights.spec) is None:
        return native_model.NativeModel(weights.spec, weights.source, run.precision, _blocks(run))
    from backends.engine.models.torch_model import TorchModel

    return TorchModel(weights.spec, weights.source, run.precision, _blocks(run))


def _blocks(run: Run) -> int:
    return max(1, run.kv_tokens // BLOCK_TOKENS)
