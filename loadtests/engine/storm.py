"""A storm of submits and cancels on one engine: does all memory come back, and do cancelled requests stop costing?

    python -m loadtests.engine.storm --model DIR_OR_GGUF [--seconds 600] [--precision int8] [--json] [--ledger]

First 16 requests with a common prefix of 512 tokens, computed tokens counted. Then the storm: prompts short and long, shared
heads, two tenants, two priorities, greedy and sampled, more blocks wanted than there are, two of five cancelled at a random
moment.
Ends with status 1 when something did not come back.
"""

import argparse
import heapq
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from backends.engine.api import Job, Output
from backends.engine.loop import Engine
from backends.engine.open import open_engine
from backends.engine.weights.opening import open_weights
from backends.messages import Sampling
from loadtests.engine.memory import resident_mb
from loadtests.engine.workload import FIRST_WORD
from loadtests.ledger import add_row
from loadtests.openloop import quantile
from policies.catalogue import Precision, Run

SHARERS, SHARED_TOKENS, TAIL_TOKENS = 16, 512, 8
WIDTH = 48
CANCELLED_SHARE = 0.4
KV_TOKENS = 4096
SETTLE_S, READY_WITHIN_S, IDLE_S, ENDS_WITHIN_S = 10.0, 120.0, 1.0, 120.0


@dataclass(slots=True)
class Tally:
    """What the storm saw. `cancel_ms`: from the call to the last Output; `late`: Outputs that came after a job's end."""

    submitted: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    cancel_ms: list[float] = field(default_factory=list)
    late: int = 0


class Storm:
    """Keeps WIDTH jobs under way until its time is over, then waits for the last one."""

    def __init__(self, engine: Engine, vocab_size: int, seed: int) -> None:
        self.tally = Tally()
        self._engine = engine
        self._vocab = vocab_size
        self._draw = random.Random(seed)
        self._heads = [self._words(length) for length in (48, 200, 512)]
        self._outputs: SimpleQueue[tuple[float, Output]] = SimpleQueue()
        self._alive: set[int] = set()
        self._to_cancel: list[tuple[float, int]] = []
        self._cancelled: dict[int, float] = {}

    def run(self, seconds: float) -> None:
        until = time.perf_counter() + seconds
        while (now := time.perf_counter()) < until:
            for _ in range(WIDTH - len(self._alive)):
                self._submit(now)
            self._cancel_due(now)
            self._listen(0.005)
        self._end()

    def _end(self) -> None:
        patience = time.perf_counter() + ENDS_WITHIN_S
        while self._alive and time.perf_counter() < patience:
            self._cancel_due(time.perf_counter())
            self._listen(0.05)

    def _submit(self, now: float) -> None:
        job_id = self._engine.submit(self._job(), lambda output: self._outputs.put((time.perf_counter(), output)))
        self.tally.submitted += 1
        self._alive.add(job_id)
        if self._draw.random() < CANCELLED_SHARE:
            heapq.heappush(self._to_cancel, (now + self._draw.expovariate(2.0), job_id))

    def _job(self) -> Job:
        draw = self._draw
        head = draw.choice([[], *self._heads])
        sampled = Sampling(temperature=draw.choice([0.0, 0.8]), top_p=0.95)
        prompt = (*head, *self._words(draw.randrange(1, 200)))
        return Job(prompt, sampled, draw.randrange(1, 320), salt=draw.choice([b"a", b"b"]), priority=draw.randrange(2))

    def _words(self, count: int) -> list[int]:
        return [self._draw.randrange(FIRST_WORD, self._vocab) for _ in range(count)]

    def _cancel_due(self, now: float) -> None:
        while self._to_cancel and self._to_cancel[0][0] <= now:
            job_id = heapq.heappop(self._to_cancel)[1]
            if job_id in self._alive:
                self._cancelled[job_id] = time.perf_counter()
                self._engine.cancel(job_id)

    def _listen(self, patience_s: float) -> None:
        try:
            self._hear(*self._outputs.get(timeout=patience_s))
            while True:
                self._hear(*self._outputs.get_nowait())
        except Empty:
            return

    def _hear(self, at: float, output: Output) -> None:
        self.tally.late += output.job_id not in self._alive
        self.tally.tokens += len(output.tokens)
        if output.end is None:
            return
        self._alive.discard(output.job_id)
        self.tally.ends[output.end] += 1
        asked = self._cancelled.pop(output.job_id, None)
        if asked is not None and output.end == "cancelled":
            self.tally.cancel_ms.append((at - asked) * 1000)


def opened(path: Path, precision: Precision) -> Engine:
    run = Run(weights=str(path), precision=precision, speculate="ngram", kv_tokens=KV_TOKENS, max_running=32)
    engine = open_engine(run, path).engine
    until = time.monotonic() + READY_WITHIN_S
    while engine.why_not:
        if time.monotonic() > until:
            raise SystemExit(f"the engine did not get ready: {engine.why_not}")
        time.sleep(0.01)
    return engine


def sharing(engine: Engine, vocab_size: int) -> dict[str, int]:
    """Prompt tokens that 16 requests with a common prefix needed, and those that were computed."""
    draw = random.Random(1)

    def words(count: int) -> tuple[int, ...]:
        return tuple(draw.randrange(FIRST_WORD, vocab_size) for _ in range(count))

    head, ended = words(SHARED_TOKENS), SimpleQueue[Output]()
    before = engine.stats().computed_tokens
    for _ in range(SHARERS):
        engine.submit(Job((*head, *words(TAIL_TOKENS)), Sampling(temperature=0.0), 1), ended.put)
    for _ in range(SHARERS):
        ended.get(timeout=ENDS_WITHIN_S)
    asked = SHARERS * (SHARED_TOKENS + TAIL_TOKENS)
    least = SHARED_TOKENS + SHARERS * TAIL_TOKENS
    return {"asked": asked, "computed": engine.stats().computed_tokens - before, "least": least}


def idle_steps(engine: Engine) -> int:
    """Forward passes while nobody wants anything."""
    time.sleep(0.2)
    before = engine.stats().steps
    time.sleep(IDLE_S)
    return engine.stats().steps - before


def figures(engine: Engine, storm: Storm, shared: dict[str, int], settled_mb: float) -> dict[str, object]:
    tally, stats, load = storm.tally, engine.stats(), engine.load()
    return {
        "sharing": shared,
        "submitted": tally.submitted,
        "ends": dict(tally.ends),
        "tokens": tally.tokens,
        "cancel_ms": {f"p{q}": round(quantile(tally.cancel_ms, q / 100), 1) for q in (50, 99, 100)},
        "outputs_after_the_end": tally.late,
        "preemptions": stats.preemptions,
        "evictions": stats.evictions,
        "cached_tokens": stats.cached_tokens,
        "left": {"running": load.running, "waiting": load.waiting, "blocks": load.total_blocks - load.free_blocks},
        "idle_steps": idle_steps(engine),
        "anonymous_mb": {"settled": round(settled_mb, 1), "end": round(resident_mb()["anonymous"], 1)},
    }


def broken(found: dict[str, object], storm: Storm) -> Iterator[str]:
    """What did not come back, in words."""
    left, shared = found["left"], found["sharing"]
    assert isinstance(left, dict)
    assert isinstance(shared, dict)
    if any(left.values()):
        yield f"left behind: {left}"
    if found["idle_steps"]:
        yield f"{found['idle_steps']} steps were run for nobody"
    if storm.tally.late or sum(storm.tally.ends.values()) != storm.tally.submitted:
        yield f"{storm.tally.submitted} jobs, ends {dict(storm.tally.ends)}, {storm.tally.late} outputs after an end"
    if storm.tally.ends["error"]:
        yield f"{storm.tally.ends['error']} jobs ended with an error"
    if shared["computed"] != shared["least"]:
        yield f"a shared prefix was computed more than once: {shared}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--precision", choices=("float32", "bfloat16", "int8", "int4"), default="int8")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    args = parser.parse_args()
    engine = opened(args.model, args.precision)
    vocab_size = open_weights(args.model).spec.vocab_size
    shared = sharing(engine, vocab_size)
    storm = Storm(engine, vocab_size, args.seed)
    storm.run(min(SETTLE_S, args.seconds))
    settled_mb = resident_mb()["anonymous"]
    storm.run(max(0.0, args.seconds - SETTLE_S))
    found = figures(engine, storm, shared, settled_mb)
    print(json.dumps(found, indent=None if args.json else 1))
    if args.ledger:
        add_row(
            "engine storm",
            f"{args.seconds:g} s, {WIDTH} jobs, {KV_TOKENS} KV tokens, {args.precision}",
            json.dumps(found),
        )
    wrong = list(broken(found, storm))
    engine.close()
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
