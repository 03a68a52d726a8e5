"""Several batches over one model that take turns step by step, so that whatever slows the machine slows all of them alike."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import Job, LanguageModel, Step
from backends.engine.batch import Batch
from loadtests.engine.running import GREEDY


class Part:
    """Blocks `first` to `first + blocks` of a model's KV pool, as a model of its own."""

    def __init__(self, model: LanguageModel, first: int, blocks: int) -> None:
        self.vocab_size, self.context, self.blocks = model.vocab_size, model.context, blocks
        self._model, self._first = model, np.int32(first)

    def forward(self, step: Step) -> NDArray[np.float32]:
        return self._model.forward(replace(step, tables=step.tables + self._first))


@dataclass(slots=True)
class Answers:
    """Tokens of every prompt; seconds of all steps, and of those after the first token; forward passes."""

    tokens: list[list[int]]
    whole_s: float = 0.0
    decode_s: float = 0.0
    steps: int = 0
    has_begun: bool = False

    def step(self, batch: Batch, clock: Callable[[], float]) -> None:
        began = clock()
        outputs = batch.step()
        took = clock() - began
        self.whole_s += took
        self.decode_s += took if self.has_begun else 0.0
        self.steps += 1
        for output in outputs:
            self.tokens[output.job_id] += output.tokens
        self.has_begun = self.has_begun or bool(outputs)


def in_turns(
    batches: Sequence[Batch],
    prompts: Sequence[Sequence[int]],
    new: int,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Answers]:
    """At most `new` tokens for every prompt, greedy, prompts computed anew; one step of each batch after the other."""
    for batch in batches:
        batch.pool.clear()
        for job_id, prompt in enumerate(prompts):
            batch.add(job_id, Job(tuple(prompt), GREEDY, new), 0)
    found = [Answers([[] for _ in prompts]) for _ in batches]
    while any(batch.under_way for batch in batches):
        for batch, answers in zip(batches, found, strict=True):
            if batch.under_way:
                answers.step(batch, clock)
    return found
