"""Batches of the real engine, opened and run by hand: scheduler, sampler and detokeniser are inside the time."""

import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass

from backends.engine.api import Job, LanguageModel
from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.draft.costs import StepCosts, measured
from backends.engine.draft.ngram import NgramDrafter
from backends.engine.kernels.build import user_cache
from backends.engine.models.native_model import NativeModel
from backends.engine.speculate import Speculator
from backends.engine.transcript import Detokeniser, Vocabulary
from backends.engine.weights.opening import OpenedWeights
from backends.messages import Sampling
from policies.catalogue import Precision

GREEDY = Sampling(temperature=0.0)
MAX_RUNNING = 16


@dataclass(frozen=True)
class Endless:
    """A vocabulary whose end token ends nothing, so that every contender writes as many tokens."""

    inner: Vocabulary
    eos_ids: Container[int] = frozenset()

    def decoder(self) -> Detokeniser:
        return self.inner.decoder()

    def token_bytes(self, token: int) -> bytes:
        return self.inner.token_bytes(token)


def build_model(
    weights: OpenedWeights, path: str, precision: Precision, blocks: int, threads: int | None = None
) -> LanguageModel:
    """`path` is native or torch. Raises NativeUnavailable where the kernels cannot be built."""
    if path == "native":
        return NativeModel(weights.spec, weights.source, precision, blocks, threads=threads)
    from backends.engine.models.kept import KeptSizes, machine
    from backends.engine.models.torch_model import TorchModel

    kept = KeptSizes(user_cache(), machine())
    return TorchModel(weights.spec, weights.source, precision, blocks, threads=threads, sizes=kept)


def batch_of(
    model: LanguageModel,
    vocabulary: Vocabulary,
    max_draft: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> Batch:
    """As `backends.engine.open` wires it, with n-gram drafts when `max_draft` is not 0."""
    costs = StepCosts(measured(model, clock)) if max_draft else None
    return Batch(
        model,
        vocabulary,
        revision="loadtest",
        budget=Budget(max_running=MAX_RUNNING),
        clock=clock,
        speculator=Speculator(NgramDrafter(), max_draft, costs, clock) if costs is not None else None,
        costs=costs,
    )


def decode_s(batch: Batch, prompts: Sequence[Sequence[int]], new: int) -> float:
    """Seconds for `new` tokens of each prompt, counted from when all have their first one."""
    batch.pool.clear()
    for job_id, prompt in enumerate(prompts):
        batch.add(job_id, Job(tuple(prompt), GREEDY, new + 1), 0)
    if len(batch.step()) != len(prompts):
        raise RuntimeError("the prompts do not fit into one step, so decoding cannot be timed apart")
    began = time.perf_counter()
    while batch.under_way:
        batch.step()
    return time.perf_counter() - began


def step_by_step(batch: Batch, prompt: Sequence[int], steps: int) -> Iterator[float]:
    """Seconds of each decoding step of one prompt."""
    batch.pool.clear()
    batch.add(0, Job(tuple(prompt), GREEDY, steps + 1), 0)
    batch.step()
    while batch.under_way:
        began = time.perf_counter()
        batch.step()
        yield time.perf_counter() - began


def prefill_s(batch: Batch, prompt: Sequence[int]) -> float:
    """Seconds until the first token of a prompt of which nothing is cached."""
    batch.pool.clear()
    batch.add(0, Job(tuple(prompt), GREEDY, 1), 0)
    began = time.perf_counter()
    while batch.under_way:
        batch.step()
    return time.perf_counter() - began
