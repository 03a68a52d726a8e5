"""From a policy's `run:` to an upstream: weights, model, drafts, engine, wired."""

import logging
import time
from pathlib import Path

from backends.engine.api import BLOCK_TOKENS, LanguageModel
from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.draft.costs import StepCosts, measured
from backends.engine.draft.drafter import Drafter
from backends.engine.draft.model import ModelDrafter
from backends.engine.draft.ngram import NgramDrafter
from backends.engine.grammar.compile import Grammars
from backends.engine.kernels.build import user_cache
from backends.engine.loop import Engine
from backends.engine.models.device import chosen
from backends.engine.models.heap import give_back
from backends.engine.spec import CodedSource, ModelSpec, TensorSource
from backends.engine.speculate import Speculator
from backends.engine.thread.courier import Courier
from backends.engine.upstream.local import LocalUpstream
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.held import precision_of
from backends.engine.weights.opening import OpenedWeights, open_weights
from backends.engine.weights.told import told
from policies.catalogue import Precision, Run

log = logging.getLogger("turnout.engine")

MAX_WAITING = 256
"""Jobs beyond `max_running` that may wait; a longer line is answered with an error at once, not with a timeout late."""


def open_engine(
    run: Run, path: Path, *, draft: Path | None = None, output_tokens: int | None = None, calls_tools: bool = False
) -> LocalUpstream:
    """Reads what describes the models and their tokenizers now, loads and warms the models in the background.

    `path` is a directory or a GGUF file, and so is `draft`: the weights that `run.draft` names, the same ones when None.
    Raises DeviceMissing, what `open_weights` raises, and WeightsError for a draft that speaks other tokens, for a precision
    that the weights do not have, and with `calls_tools` for a model that cannot.
    `LocalUpstream.load` tells when it is ready.
    """
    chosen(run.device)
    weights = open_weights(path)
    if calls_tools and weights.tokenizer.call_format is None:
        raise WeightsError(f"{path.name} cannot call tools: its chat template takes none, or in a form unknown here")
    drafting = _opened_draft(run, weights, path, draft) if run.speculate == "draft" else None
    courier = Courier()
    revision = f"{weights.revision}/{precision_of(weights.source, run.precision)}/kv-{run.kv_precision}"
    engine = Engine(
        lambda: _batch(run, weights, drafting, revision),
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
        longest_token=weights.tokenizer.longest_token,
        own_sampling={"temperature": run.temperature, "top_p": run.top_p},
        calls=weights.tokenizer.call_format,
        grammars=Grammars(weights.tokenizer, weights.spec.vocab_size) if weights.tokenizer.eos_ids else None,
    )


def _opened_draft(run: Run, weights: OpenedWeights, path: Path, draft: Path | None) -> OpenedWeights:
    if draft is None or draft == path:
        if isinstance(weights.source, CodedSource):
            raise WeightsError(
                f"{path.name} is held in {weights.source.precision} alone: name other weights as `draft`"
            )
        return weights
    opened = open_weights(draft)
    precision_of(opened.source, run.draft_precision)
    if why := weights.tokenizer.differs_from(opened.tokenizer):
        raise WeightsError(f"{draft.name} cannot draft for {path.name}: {why}; a draft needs the same tokenizer")
    return opened


def _batch(run: Run, weights: OpenedWeights, draft: OpenedWeights | None, revision: str) -> Batch:
    model, speculator, costs = model_of(run, weights), None, None
    if run.speculate != "off":
        costs = StepCosts(measured(model, time.perf_counter))
        drafter: Drafter = NgramDrafter() if draft is None else _model_drafter(run, draft, model.vocab_size)
        speculator = Speculator(drafter, run.max_draft, costs, time.perf_counter)
    return Batch(
        model,
        weights.tokenizer,
        revision=revision,
        budget=Budget(max_running=run.max_running),
        clock=time.perf_counter,
        speculator=speculator,
        costs=costs,
    )


def _model_drafter(run: Run, draft: OpenedWeights, vocab_size: int) -> ModelDrafter:
    """Its KV holds as many tokens as the target's, so that it can follow every sequence that runs."""
    own = Run(
        weights=run.draft or run.weights,
        precision=precision_of(draft.source, run.draft_precision, "int4"),
        kv_tokens=run.kv_tokens,
        kv_precision=run.kv_precision,
        device=run.device,
        graphs=run.graphs,
    )
    model = model_of(own, draft)
    return ModelDrafter(model, vocab_size, time.perf_counter, StepCosts(measured(model, time.perf_counter)))


def model_of(run: Run, weights: OpenedWeights) -> LanguageModel:
    """Torch on CUDA where that is the device; on the CPU native kernels where they can be built, else torch.

    Raises DeviceMissing.
    """
    model = _loaded(run, weights)
    give_back()
    return model


def _loaded(run: Run, weights: OpenedWeights) -> LanguageModel:
    from backends.engine.models import native_model

    spec, precision = weights.spec, precision_of(weights.source, run.precision)
    source = told(weights.source, spec, lambda share: log.info("%s: %d %% read", run.weights, share), time.monotonic)
    if chosen(run.device) == "cuda":
        return _on_cuda(run, spec, source, precision)
    why_not = native_model.available_for(spec)
    if why_not is None:
        return native_model.NativeModel(spec, source, precision, _blocks(run), kv_precision=run.kv_precision)
    log.warning("%s runs on torch, several times slower than native kernels: %s", run.weights, why_not)
    from backends.engine.models.kept import KeptSizes, machine
    from backends.engine.models.torch_model import TorchModel

    kept = KeptSizes(user_cache(), machine())
    return TorchModel(spec, source, precision, _blocks(run), kv_precision=run.kv_precision, sizes=kept)


def _on_cuda(run: Run, spec: ModelSpec, source: TensorSource, precision: Precision) -> LanguageModel:
    from backends.engine.layers.graphs import CudaCapture
    from backends.engine.models.torch_model import TorchModel

    capture = CudaCapture() if run.graphs else None
    return TorchModel(
        spec, source, precision, _blocks(run), kv_precision=run.kv_precision, device="cuda", capture=capture
    )


def _blocks(run: Run) -> int:
    return max(1, run.kv_tokens // BLOCK_TOKENS)
