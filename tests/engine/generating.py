"""Running batches to their end, step by step, on the test's own thread."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from stub_models import FreeRows, StubVocabulary

from backends.engine.api import EndReason, Job, LanguageModel, Output
from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.draft.drafter import Drafter
from backends.engine.speculate import Speculator
from backends.engine.transcript import Vocabulary
from backends.messages import Sampling, TokenLogprob, Usage

GREEDY = Sampling(temperature=0.0)
UNSEEDED = 999
PATIENCE_S = 20
ENDLESS = StubVocabulary(eos=None)


@dataclass
class Answer:
    """All Outputs of one job, joined. `steps` are the numbers of the steps that added something."""

    text: str = ""
    pieces: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    end: EndReason | None = None
    usage: Usage | None = None
    error: str = ""
    steps: list[int] = field(default_factory=list)

    def add(self, output: Output, step: int) -> None:
        assert self.end is None, "an Output came after the end"
        self.text += output.text
        self.pieces.append(output.text)
        self.tokens += output.tokens
        self.logprobs += output.logprobs
        self.end, self.usage, self.error = output.end, output.usage, output.error
        self.steps.append(step)


def job(prompt: Sequence[int], max_tokens: int = 8, sampling: Sampling = GREEDY, **fields: object) -> Job:
    return Job(tuple(prompt), sampling, max_tokens, **fields)  # type: ignore[arg-type]  # a test's own keywords


def batch_of(
    model: LanguageModel,
    vocabulary: Vocabulary | None = None,
    *,
    budget: Budget | None = None,
    drafter: Drafter | None = None,
    max_draft: int = 4,
) -> Batch:
    """A batch whose clock stands still; with a drafter it verifies every draft that is offered."""
    return Batch(
        model,
        vocabulary or StubVocabulary(),
        revision="test",
        budget=budget or Budget(),
        clock=lambda: 0.0,
        speculator=Speculator(drafter, max_draft, FreeRows(), lambda: 0.0) if drafter else None,
    )


def run(batch: Batch, jobs: Sequence[Job], *, at_step: Mapping[int, Callable[[], None]] = {}) -> list[Answer]:
    """Submit all at once, step until all have ended, and check that every block came back."""
    answers = {job_id: Answer() for job_id in range(1, len(jobs) + 1)}
    for job_id, each in enumerate(jobs, 1):
        batch.add(job_id, each, UNSEEDED)
    finish(batch, answers, at_step=at_step)
    return list(answers.values())


def finish(batch: Batch, answers: dict[int, Answer], *, at_step: Mapping[int, Callable[[], None]] = {}) -> None:
    step = 0
    while batch.under_way:
        at_step.get(step, lambda: None)()
        for output in batch.step():
            answers[output.job_id].add(output, step)
        step += 1
    assert batch.pool.free == batch.pool.total, "blocks leaked"


def until(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Wait for what another thread will do."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.001)
