"""A model server, simulated step by step: continuous batching with chunked prefill, and a prefix cache (LRU of blocks).

A step computes up to STEP_TOKENS of the oldest prompt that waits and one token of every answer under way, and takes
`STEP_S + SEQUENCE_S x answers + tokens / speed` seconds. What the head of the queue finds in the cache is not computed.
"""

import heapq
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from loadtests.affinity.traces import BLOCK_TOKENS, Arrival

STEP_TOKENS = 2048
STEP_S = 0.012
"""One read of the weights: what a step takes when it computes nothing else."""
SEQUENCE_S = 0.0002
PREFILL_TOKENS_PER_S = 10_000.0
TYPICAL_BATCH = 32
"""Answers that share a read of the weights, for the reckoning of work."""


def prefill_s(tokens: int) -> float:
    """Seconds of work for so many tokens of prompt."""
    return tokens / PREFILL_TOKENS_PER_S


def answer_s(tokens: int) -> float:
    """Seconds of work for so many tokens of answers, where a read of the weights is shared."""
    return tokens * (STEP_S / TYPICAL_BATCH + SEQUENCE_S)


@dataclass(slots=True)
class Job:
    """A request at a replica. `cached`, `first_token_at` and `ended_at` are -1 until they are known."""

    arrival: Arrival
    uncached: int
    replica: str = ""
    cached: int = -1
    left: int = 0
    first_token_at: float = -1.0
    ended_at: float = -1.0

    @property
    def ttft_s(self) -> float:
        return self.first_token_at - self.arrival.at_s


class Cache:
    """The longest prefix held; least recently used blocks go first, of one prompt its end."""

    def __init__(self, blocks: int) -> None:
        self._most = blocks
        self._held: OrderedDict[int, None] = OrderedDict()

    def depth(self, blocks: Sequence[int]) -> int:
        return next((i for i, block in enumerate(blocks) if block not in self._held), len(blocks))

    def add(self, blocks: Sequence[int]) -> None:
        for block in reversed(blocks):
            self._held[block] = None
            self._held.move_to_end(block)
        while len(self._held) > self._most:
            self._held.popitem(last=False)

    def clear(self) -> None:
        self._held.clear()


class Replica:
    """`advance` runs it up to an instant; a step once begun is finished, and so may end after it. `prefilled` and `ended`
    hold jobs in the order in which they came to that."""

    def __init__(self, name: str, *, cache_blocks: int, speed: float = 1.0) -> None:
        self.name = name
        self.cache = Cache(cache_blocks)
        self.speed = speed
        self.computed = self.answered = 0
        self.waiting: deque[Job] = deque()
        self.prefilled: deque[Job] = deque()
        self.ended: deque[Job] = deque()
        self._decoding: list[tuple[int, int, Job]] = []
        self._step = 0
        self._jobs = 0
        self._now = 0.0

    @property
    def running(self) -> int:
        return len(self.waiting) + len(self._decoding)

    @property
    def work_s(self) -> float:
        """Seconds of work done here, whoever waited for it."""
        return (prefill_s(self.computed) + answer_s(self.answered)) / self.speed

    def submit(self, job: Job, now: float) -> None:
        self._now = max(self._now, now) if not self.running else self._now
        job.replica = self.name
        self.waiting.append(job)

    def advance(self, until: float) -> None:
        while self._now < until and self.running:
            self._prefill() if self.waiting else self._decode(until)

    def crash(self, now: float) -> list[Job]:
        """The cache is gone, and so is all that was under way. Returned are those without a first token, to be sent again."""
        lost = [*self.prefilled, *self.waiting]
        self.cache.clear()
        for under_way in (self.waiting, self.prefilled, self.ended, self._decoding):
            under_way.clear()
        self._now = now
        return lost

    def _pace(self, tokens: int) -> float:
        return (STEP_S + SEQUENCE_S * len(self._decoding) + tokens / PREFILL_TOKENS_PER_S) / self.speed

    def _prefill(self) -> None:
        room, ready = STEP_TOKENS, list[Job]()
        while room > 0 and self.waiting:
            job = self.waiting[0]
            self._look_up(job)
            taken = min(room, job.left)
            job.left -= taken
            room -= taken
            if job.left == 0:
                ready.append(self.waiting.popleft())
                self.cache.add(job.arrival.blocks)
        tokens = STEP_TOKENS - room
        self.computed += tokens
        self._pass(1, self._pace(tokens))
        for job in ready:
            self._first_token(job)

    def _look_up(self, job: Job) -> None:
        """The last token of a prompt is always computed, for it gives the first of the answer."""
        if job.left == 0:
            held = self.cache.depth(job.arrival.blocks) * BLOCK_TOKENS
            job.cached = min(held, job.arrival.prompt_tokens - 1)
            job.left = job.arrival.prompt_tokens - job.cached

    def _first_token(self, job: Job) -> None:
        job.first_token_at = self._now
        self.prefilled.append(job)
        self._jobs += 1
        heapq.heappush(self._decoding, (self._step + job.arrival.output_tokens, self._jobs, job))

    def _decode(self, until: float) -> None:
        pace = self._pace(0)
        steps = min(self._decoding[0][0] - self._step, ceil((until - self._now) / pace))
        self._pass(max(1, steps), pace)

    def _pass(self, steps: int, pace: float) -> None:
        self._now += steps * pace
        self._step += steps
        self.answered += steps * len(self._decoding)
        while self._decoding and self._decoding[0][0] <= self._step:
            job = heapq.heappop(self._decoding)[2]
            job.ended_at = self._now
            self.ended.append(job)
