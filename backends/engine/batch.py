"""The running batch: schedule, run, commit. One thread's work, without the thread.

Owns the scheduler, the pool and what every job needs to become text. Knows no queue, no clock but the one it is given.
"""

from collections.abc import Callable
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import BLOCK_TOKENS, EngineLoad, GrammarFault, Job, LanguageModel, Output
from backends.engine.blocks import BlockPool
from backends.engine.budget import Budget
from backends.engine.draft.costs import StepCosts
from backends.engine.logprobs import read_logprobs
from backends.engine.ragged import ragged
from backends.engine.sampler import Sampler
from backends.engine.scheduler import Chunk, Scheduler
from backends.engine.sequence import Sequence
from backends.engine.speculate import Speculator
from backends.engine.transcript import Transcript, Vocabulary
from backends.messages import TokenLogprob
from backends.upstream import GIVES_WAY
from policies.affinity.blocks import seed

Logits = NDArray[np.float32]

NO_NUMBERS = "the model gave no finite logits"

DEADLINE = "the deadline passed"
"""`Output.error` of a job that was cancelled by its deadline."""


@dataclass(slots=True, frozen=True)
class Live:
    """A job under way: where its KV stands, how it draws, what it says."""

    sequence: Sequence
    sampler: Sampler
    transcript: Transcript


@dataclass(slots=True, frozen=True)
class BatchStats:
    """Totals. `proposed` and `accepted` count draft tokens, `computed_tokens` known tokens that were run.

    `draft_speedup` estimates how many times as fast as without drafts the decoding went, by the measured costs of steps.
    """

    steps: int = 0
    computed_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    preemptions: int = 0
    evictions: int = 0
    proposed: int = 0
    accepted: int = 0
    draft_speedup: float = 1.0


class Batch:
    """`revision` names the weights: prefixes are shared only within one revision and one salt."""

    def __init__(
        self,
        model: LanguageModel,
        vocabulary: Vocabulary,
        *,
        revision: str,
        budget: Budget,
        clock: Callable[[], float],
        speculator: Speculator | None = None,
        costs: StepCosts | None = None,
    ) -> None:
        self.pool = BlockPool(model.blocks)
        self.scheduler = Scheduler(self.pool, budget, speculator)
        self.speculator = speculator
        self._costs = costs
        self._model = model
        self._vocabulary = vocabulary
        self._revision = revision
        self._clock = clock
        self._live: dict[int, Live] = {}
        self._steps = self._cached_tokens = self._generated_tokens = 0

    @property
    def under_way(self) -> int:
        """Jobs that have not ended."""
        return len(self._live)

    @property
    def window(self) -> int:
        """Tokens that prompt and output of one job may have together."""
        return min(self._model.context, self.pool.total * BLOCK_TOKENS)

    @property
    def vocab_size(self) -> int:
        return self._model.vocab_size

    def resident_tokens(self, digests: Seq[bytes]) -> int:
        """Safe from any thread."""
        return self.pool.resident(digests) * BLOCK_TOKENS

    def add(self, job_id: int, job: Job, seed_: int) -> None:
        """Take up a job that fits (see `Engine.submit`). `seed_` is used when its sampling names none."""
        sequence = Sequence(job_id, job, seed(self._revision, job.salt))
        sampler = Sampler(job.sampling, job.prompt, seed_, job.grammar.begin() if job.grammar else None)
        self._live[job_id] = Live(sequence, sampler, Transcript(job_id, job, self._vocabulary))
        if self.speculator is not None:
            self.speculator.begin(job_id, sampler)
        self.scheduler.add(sequence)

    def cancel(self, job_id: int, why: str = "") -> Output | None:
        """The last Output of the job, or None if it is not under way. Its blocks are free on return."""
        live = self._live.get(job_id)
        if live is None:
            return None
        self._remove(live)
        output = live.transcript.take(live.sequence.cached)
        output.end, output.error = "cancelled", why
        output.usage = live.transcript.usage(live.sequence.cached)
        return output

    def expire(self, now: float) -> list[Output]:
        """Cancel the jobs whose deadline has passed."""
        deadlines = [(job_id, live.sequence.job.deadline_s) for job_id, live in self._live.items()]
        overdue = [job_id for job_id, deadline in deadlines if deadline is not None and deadline <= now]
        return [output for job_id in overdue if (output := self.cancel(job_id, DEADLINE))]

    def step(self) -> list[Output]:
        """One forward pass and what it added, job by job. Does nothing when there is nothing to do."""
        chunks = self.scheduler.plan()
        if not chunks:
            if self._live:
                raise RuntimeError("jobs are under way, but no row is planned")
            return []
        try:
            logits = self._forward(chunks)
        except MemoryError:
            self.scheduler.retreat()
            return []
        self._steps += 1
        return self._commit(chunks, logits)

    def load(self) -> EngineLoad:
        running = [sequence for sequence in self.scheduler.running if sequence.job.priority < GIVES_WAY]
        return EngineLoad(
            waiting=sum(sequence.job.priority < GIVES_WAY for sequence in self.scheduler.waiting),
            running=len(running),
            queued_tokens=sum(
                live.sequence.prompt_missing for live in self._live.values() if live.sequence.job.priority < GIVES_WAY
            ),
            free_blocks=self.pool.free,
            total_blocks=self.pool.total,
            active_tokens=sum(sequence.computed for sequence in running),
        )

    def stats(self) -> BatchStats:
        speculator = self.speculator
        return BatchStats(
            steps=self._steps,
            computed_tokens=self.scheduler.computed_tokens,
            cached_tokens=self._cached_tokens,
            generated_tokens=self._generated_tokens,
            preemptions=self.scheduler.preemptions,
            evictions=self.pool.stats().evictions,
            proposed=speculator.proposed if speculator else 0,
            accepted=speculator.accepted if speculator else 0,
            draft_speedup=speculator.speedup if speculator else 1.0,
        )

    def _forward(self, chunks: list[Chunk]) -> Logits:
        started = self._clock()
        logits = self._model.forward(ragged(chunks))
        is_watched = self.speculator is None or self.speculator.is_watching
        if self._costs is not None and is_watched and all(chunk.count == 1 for chunk in chunks):
            self._costs.observe(sum(chunk.rows for chunk in chunks), self._clock() - started)
        return logits

    def _commit(self, chunks: list[Chunk], logits: Logits) -> list[Output]:
        largest = logits.argmax(axis=1).tolist()
        outputs = []
        row = 0
        for chunk in chunks:
            wanted = 1 + len(chunk.draft) if chunk.samples else 0
            output = self._settle(chunk, logits[row : row + wanted], largest[row : row + wanted])
            row += wanted
            if output is not None:
                outputs.append(output)
        return outputs

    def _settle(self, chunk: Chunk, logits: Logits, largest: list[int]) -> Output | None:
        """Book one chunk: draw its tokens, move its KV on, and end the job if a token ended it."""
        live = self._live[chunk.sequence.job_id]
        if not all(isfinite(logits[row, token]) for row, token in enumerate(largest)):
            return self._fail(live, NO_NUMBERS)
        try:
            sampled = self._accept(live, chunk, logits, largest) if chunk.samples else []
        except GrammarFault as fault:
            return self._fail(live, str(fault), param="response_format")
        self.scheduler.commit(chunk, sampled)
        if not sampled:
            return None
        self._generated_tokens += len(sampled)
        if self.speculator is not None and chunk.draft:
            self.speculator.learn(chunk, len(sampled) - 1)
        if live.transcript.end is not None:
            self._remove(live)
        return live.transcript.take(live.sequence.cached)

    def _accept(self, live: Live, chunk: Chunk, logits: Logits, largest: list[int]) -> list[int]:
        """Draw position by position, on while the draft guessed the draw. The plain path is the same with no draft."""
        position = chunk.start + chunk.count
        sampled: list[int] = []
        for row, guess in enumerate([*chunk.draft, None]):
            token = largest[row] if live.sampler.is_plain else live.sampler.choose(logits[row], position + row)
            live.sampler.count(token)
            sampled.append(token)
            if live.transcript.add(token, self._logprob(live, token, logits[row])) or token != guess:
                break
        return sampled

    def _logprob(self, live: Live, token: int, logits: Logits) -> TokenLogprob | None:
        sampling = live.sequence.job.sampling
        if not sampling.logprobs or 0 < sampling.logprobs_at_most <= live.transcript.tokens:
            return None
        return read_logprobs(logits, token, sampling.top_logprobs, self._vocabulary)

    def _fail(self, live: Live, why: str, param: str = "") -> Output:
        """Rows do not depend on each other, so the other jobs are sound."""
        self._remove(live)
        return Output(live.sequence.job_id, end="error", error=why, param=param)

    def _remove(self, live: Live) -> None:
        job_id = live.sequence.job_id
        del self._live[job_id]
        self._cached_tokens += live.sequence.cached
        self.scheduler.end(live.sequence)
        if self.speculator is not None:
            self.speculator.forget(job_id)
