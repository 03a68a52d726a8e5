"""The engine: one thread that owns the model. Orders in, schedule, run, commit, deliveries out.

A fault of the model ends the jobs under way with an honest error, then the model is built anew, later and later if it keeps
failing, and not at all once it has failed alike too often. Nobody waits for an answer that will not come.
"""

import logging
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Thread, current_thread

from backends.engine.api import EngineLoad, Job, Output
from backends.engine.batch import Batch, BatchStats
from backends.engine.blocks import BlockPool
from backends.engine.thread.feed import ResidencyFeed
from backends.engine.thread.inbox import Cancel, Deliver, Inbox, Order, Submit
from backends.engine.thread.restart import PATIENT, Faults, Restart
from backends.engine.upstream.fits import refuse_unfit
from backends.errors import Kind, UpstreamError
from backends.messages import Sampling

log = logging.getLogger(__name__)

LOADING = "loading weights"
WARMING = "warming up"
CLOSE_WAIT_S = 10.0
"""A thread that is still loading cannot be interrupted, and ends by itself soon after."""

NO_LOAD = EngineLoad(waiting=0, running=0, queued_tokens=0, free_blocks=0, total_blocks=0)
NO_STATS = BatchStats()


class Engine:
    """`build` makes a fresh batch around a freshly loaded model; it runs on the engine's thread, at start and after a fault.

    `step_ended` is called on that thread after the deliveries of each step: the place for one wake-up for all jobs.
    `feed` tells which prefixes are resident, from the end of one step to the end of the next.
    `gave_up`: the model could not be built, and no more tries are made; `why_not` has the reason.
    """

    def __init__(
        self,
        build: Callable[[], Batch],
        *,
        max_jobs: int = 320,
        step_ended: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        restart: Restart = PATIENT,
        name: str = "engine",
    ) -> None:
        self._build = build
        self.feed = ResidencyFeed()
        self._inbox = Inbox(max_jobs)
        self._step_ended = step_ended
        self._clock = clock
        self._restart = restart
        self._batch: Batch | None = None
        self._load = NO_LOAD
        self._stats = NO_STATS
        self._why_not = LOADING
        self.gave_up: bool = False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def why_not(self) -> str:
        """Why no job is accepted, in words; empty when the engine is ready."""
        return self._why_not

    def submit(self, job: Job, deliver: Deliver) -> int:
        batch = self._batch
        if self.why_not or batch is None:
            raise UpstreamError("engine_failed", f"the engine is not ready: {self.why_not}", sent=False)
        refuse_unfit(job, batch.window, batch.vocab_size)
        job_id = self._inbox.submit(job, deliver)
        if job_id is None:
            raise UpstreamError("overloaded", "the engine's waiting line is full", sent=False)
        return job_id

    def cancel(self, job_id: int) -> None:
        self._inbox.cancel(job_id)

    def resident_tokens(self, blocks: Sequence[bytes]) -> int:
        batch = self._batch
        return 0 if batch is None else batch.resident_tokens(blocks)

    def load(self) -> EngineLoad:
        jobs, tokens = self._inbox.queued()
        load = self._load
        return replace(load, waiting=load.waiting + jobs, queued_tokens=load.queued_tokens + tokens)

    def stats(self) -> BatchStats:
        """Totals since the model was last built."""
        return self._stats

    @property
    def window(self) -> int:
        """Tokens that prompt and output may have together; 0 before the model is loaded."""
        batch = self._batch
        return 0 if batch is None else batch.window

    @property
    def vocab_size(self) -> int:
        """0 before the model is loaded."""
        batch = self._batch
        return 0 if batch is None else batch.vocab_size

    def close(self) -> None:
        self._inbox.close()
        if current_thread() is not self._thread:
            self._thread.join(CLOSE_WAIT_S)

    def _run(self) -> None:
        faults = Faults(self._restart)
        while not self._inbox.is_closed:
            started = self._clock()
            try:
                self._serve(self._open())
            except Exception as fault:
                faults.book(fault, was_ready=self._batch is not None, lived_s=self._clock() - started)
                if faults.is_hopeless:
                    return self._give_up(fault, faults.builds)
                log.exception("the engine failed and is built again")
                self._fail(f"engine restarting: {told(fault)}", kind_of(fault))
                self._inbox.pause(faults.pause_s)
        return self._fail("the engine was closed")

    def _open(self) -> Batch:
        self._why_not = self._why_not or LOADING
        batch = self._build()
        self._why_not = WARMING
        warm_up(batch)
        self._batch = batch
        batch.pool.drain_events()
        self._publish(batch)
        self._why_not = ""
        return batch

    def _serve(self, batch: Batch) -> None:
        """Schedule, run, commit, deliver, until closed. Sleeps on the inbox while there is no job."""
        while not self._inbox.is_closed:
            outputs = self._obey(batch, self._inbox.take(wait=not batch.under_way))
            outputs += batch.expire(self._clock())
            outputs += batch.step()
            self._publish(batch)
            self._deliver(outputs)

    def _obey(self, batch: Batch, orders: list[Order]) -> list[Output]:
        outputs: list[Output | None] = []
        for order in orders:
            match order:
                case Submit(job_id, job):
                    batch.add(job_id, job, secrets.randbits(64))
                case Cancel(job_id):
                    outputs.append(batch.cancel(job_id))
        return [output for output in outputs if output is not None]

    def _publish(self, batch: Batch) -> None:
        """What other threads may see: values, replaced as a whole."""
        self._load = batch.load()
        self._stats = batch.stats()
        if batch.pool.has_events:
            self._tell_residency(batch.pool)

    def _tell_residency(self, pool: BlockPool) -> None:
        news = pool.drain_events()
        if news.complete:
            self.feed.publish(news.changes)
        else:
            self.feed.replace(pool.digests())

    def _deliver(self, outputs: list[Output]) -> None:
        for output in outputs:
            deliver = self._inbox.deliver_to(output.job_id)
            if output.end is not None:
                self._inbox.end(output.job_id)
            if deliver is not None:
                self._hand_over(output, deliver)
        if outputs:
            self._step_ended()

    def _hand_over(self, output: Output, deliver: Deliver) -> None:
        """A consumer that fails loses its job; the others go on."""
        try:
            deliver(output)
        except Exception:
            log.exception("a consumer failed; its job is cancelled")
            self._inbox.cancel(output.job_id)

    def _fail(self, why: str, kind: Kind = "engine_failed") -> None:
        self._why_not = why
        self._batch = None
        self._load = NO_LOAD
        self.feed.begin()
        abandoned = self._inbox.abandon()
        self._deliver([Output(job_id, end="error", error=why, kind=kind) for job_id in abandoned])

    def _give_up(self, fault: Exception, builds: int) -> None:
        """Closed before it is emptied, so that no job comes in behind the last look."""
        log.error("the engine failed %d times alike and is given up", builds, exc_info=fault)
        self._inbox.close()
        self._fail(f"given up after {builds} tries: {told(fault)}")
        self.gave_up = True


def told(fault: Exception) -> str:
    """
    >>> told(MemoryError()), told(OSError("no such file"))
    ('MemoryError', 'OSError: no such file')
    """
    name = type(fault).__name__
    return f"{name}: {fault}" if str(fault) else name


def kind_of(fault: Exception) -> Kind:
    """A want of memory passes: whoever asks again in a moment, or somebody else, may be answered."""
    return "overloaded" if isinstance(fault, MemoryError) else "engine_failed"


def warm_up(batch: Batch) -> None:
    """One short generation, so that the first user does not pay for first touches; then the pool is empty again."""
    prompt = (0,) * max(1, min(33, batch.window - 4))
    batch.add(0, Job(prompt, Sampling(temperature=0.0), max_tokens=3), 0)
    while batch.under_way:
        batch.step()
    batch.pool.clear()
