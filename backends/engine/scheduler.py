"""The scheduler: which rows the next step computes. Pure Python, deterministic, no clock, no tensor.

A step is a list of chunks. Every decoding sequence gets its one row, plus draft rows; the rest of the row budget goes to
prompts, oldest first, then to admissions. Decodes go first so that a long prompt never stops a stream, and prompts keep a
minimum so that a full house never stops arrivals. A sequence that lacks a block takes it from the youngest one.
"""

from bisect import insort
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol

from backends.engine.api import BLOCK_TOKENS
from backends.engine.blocks import BlockPool, blocks_for
from backends.engine.budget import Allowance, Budget
from backends.engine.sequence import Sequence
from backends.engine.waiting import ServedTokens, WaitingLine

_rank = attrgetter("rank")


@dataclass(slots=True)
class Chunk:
    """Rows of one sequence in one step: `count` of its tokens from `start` on, then `draft` tokens to be verified.

    `samples` tells that the known tokens end here, so the logits of the last one and of every draft row are wanted.
    """

    sequence: Sequence
    start: int
    count: int
    draft: list[int] = field(default_factory=list)
    samples: bool = True

    @property
    def rows(self) -> int:
        return self.count + len(self.draft)


class Drafting(Protocol):
    """Who guesses next tokens. A guess costs a row; it changes no result."""

    def propose(self, decoding: Seq[Sequence]) -> list[list[int]]:
        """Draft tokens for each sequence, at most `room - 1` of them, possibly none."""
        ...


class Scheduler:
    """Waiting and running sequences over one pool. `plan` chooses rows, `commit` books what they gave."""

    def __init__(self, pool: BlockPool, budget: Budget, drafting: Drafting | None = None) -> None:
        self.pool = pool
        self._allowance = Allowance(budget)
        self.drafting = drafting
        self.served = ServedTokens()
        self.waiting = WaitingLine(self.served)
        self.running: list[Sequence] = []
        self.preemptions = 0
        self.computed_tokens = 0

    @property
    def budget(self) -> Budget:
        return self._allowance.budget

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence that fits: its prompt and output together need at most the whole pool."""
        self.served.arrive(sequence.job.salt)
        self.waiting.put(sequence)

    def end(self, sequence: Sequence) -> None:
        """Take a sequence out, wherever it is, and free its blocks."""
        if sequence in self.running:
            self.running.remove(sequence)
            self._release(sequence)
        else:
            self.waiting.remove(sequence)
        self.served.leave(sequence.job.salt)

    def plan(self) -> list[Chunk]:
        """Rows of the next step; empty when there is nothing to do. Preempts where blocks are short."""
        self._allowance.step()
        chunks = self._decodes()
        room = self._prefill_room(sum(chunk.rows for chunk in chunks))
        for sequence in [running for running in self.running if running.missing > 1]:
            room -= self._prefill(sequence, room, chunks)
        while room > 0 and (admitted := self._admit()):
            room -= self._prefill(admitted, room, chunks)
        return chunks

    def commit(self, chunk: Chunk, sampled: Seq[int]) -> None:
        """Book a computed chunk and the tokens that it gave: the accepted draft tokens and the one after them."""
        sequence = chunk.sequence
        sequence.tokens.extend(sampled)
        sequence.computed = chunk.start + chunk.count + max(0, len(sampled) - 1)
        self._publish(sequence, chunk.start, sequence.computed)
        self.served.charge(sequence.job.salt, decoded=len(sampled))
        self.computed_tokens += chunk.count

    def retreat(self) -> None:
        """The model had no memory for the planned step: take everything back and go on with half the rows.

        Nothing of the step is booked, and nothing it published may be found. Raises MemoryError at the smallest step.
        """
        self._allowance.shrink()
        self.pool.clear()
        for sequence in reversed(self.running.copy()):
            self._preempt(sequence)

    def _decodes(self) -> list[Chunk]:
        for sequence in [running for running in self.running if running.missing == 1]:
            if sequence in self.running:
                self._secure_row(sequence)
        ready = [running for running in self.running if running.missing == 1]
        drafts = self.drafting.propose(ready) if self.drafting and ready else [[]] * len(ready)
        return [self._decode(sequence, draft) for sequence, draft in zip(ready, drafts, strict=True)]

    def _decode(self, sequence: Sequence, draft: list[int]) -> Chunk:
        """Drafts get blocks only while some are free: a guess displaces nobody's work."""
        self._extend(sequence, sequence.computed + 1 + len(draft))
        fits = len(sequence.table) * BLOCK_TOKENS - sequence.computed - 1
        return Chunk(sequence, sequence.computed, 1, draft[:fits])

    def _prefill_room(self, decode_rows: int) -> int:
        if not decode_rows:
            return self.budget.prefill_rows
        return max(self.budget.least_prefill, self.budget.mixed_rows - decode_rows)

    def _prefill(self, sequence: Sequence, room: int, planned: list[Chunk]) -> int:
        """Plan up to `room` rows of a prompt and return how many.

        Blocks are published now, before they are computed: KV of all rows is written before any row attends, so a
        later sequence of the same step may already share them. Chunks end at block boundaries to keep that possible.
        """
        if room <= 0 or sequence not in self.running:
            return 0
        sequence.count_cached(self._attach(sequence))
        end = _chunk_end(sequence, room)
        if end == sequence.computed or not self._secure(sequence, end, planned):
            return 0
        end = min(end, len(sequence.table) * BLOCK_TOKENS)
        chunk = Chunk(sequence, sequence.computed, end - sequence.computed, samples=end == len(sequence.tokens))
        self._publish(sequence, chunk.start, end)
        self.served.charge(sequence.job.salt, prefilled=chunk.count)
        planned.append(chunk)
        return chunk.count

    def _admit(self) -> Sequence | None:
        """Move the next waiting sequence to the running ones, if its whole prompt has room beside those under way."""
        sequence = self.waiting.next()
        if sequence is None or len(self.running) >= self.budget.max_running:
            return None
        shared = self._attach(sequence)
        if not self._has_room(sequence):
            self._release(sequence)
            return None
        sequence.count_cached(shared)
        self.waiting.remove(sequence)
        insort(self.running, sequence, key=_rank)
        return sequence

    def _has_room(self, sequence: Sequence) -> bool:
        """One block is kept in hand, so that the decode after an admission does not preempt it at once."""
        promised = sum(_lacks(running) for running in self.running if running.missing > 1)
        spare = 1 if self.running else 0
        return self.pool.free - promised >= _lacks(sequence) + spare

    def _attach(self, sequence: Sequence) -> int:
        """Share the resident blocks that follow the computed part, and return the tokens in them.

        Prompts are computed up to block boundaries, so that part ends at one. The last token is always left to be
        computed, because its logits are wanted.
        """
        before = sequence.computed
        for index in range(before // BLOCK_TOKENS, (len(sequence.tokens) - 1) // BLOCK_TOKENS):
            block = self.pool.find(sequence.digest(index), sequence.contents(index))
            if block is None:
                break
            self.pool.hold(block)
            sequence.table.append(block)
            sequence.computed += BLOCK_TOKENS
        return sequence.computed - before

    def _publish(self, sequence: Sequence, start: int, end: int) -> None:
        for index in range(start // BLOCK_TOKENS, end // BLOCK_TOKENS):
            self.pool.publish(sequence.table[index], sequence.digest(index), sequence.contents(index))

    def _extend(self, sequence: Sequence, tokens: int) -> bool:
        """Take free blocks until the table covers this many tokens; False if the pool ran out before."""
        while len(sequence.table) < blocks_for(tokens):
            block = self.pool.take()
            if block is None:
                return False
            sequence.table.append(block)
        return True

    def _secure_row(self, sequence: Sequence) -> None:
        """Give a decoding sequence the block of its next row, preempting the youngest, at worst itself."""
        while not self._extend(sequence, sequence.computed + 1):
            victim = self.running[-1]
            self._preempt(victim)
            if victim is sequence:
                return

    def _secure(self, sequence: Sequence, end: int, planned: list[Chunk]) -> bool:
        """Cover at least one more row of a prompt. Only younger sequences that are not in this step give way."""
        busy = {chunk.sequence.job_id for chunk in planned}
        while not self._extend(sequence, end) and len(sequence.table) * BLOCK_TOKENS <= sequence.computed:
            victim = self.running[-1]
            if victim is sequence or victim.job_id in busy:
                return False
            self._preempt(victim)
        return True

    def _preempt(self, victim: Sequence) -> None:
        """Back to the waiting line; what it computed stays findable as long as nobody needs the room."""
        self.running.remove(victim)
        self._release(victim)
        victim.was_preempted = True
        self.waiting.put(victim)
        self.preemptions += 1

    def _release(self, sequence: Sequence) -> None:
        self.pool.release(reversed(sequence.table))
        del sequence.table[:]
        sequence.computed = 0


def _lacks(sequence: Sequence) -> int:
    """Blocks that the known tokens still need."""
    return blocks_for(len(sequence.tokens)) - len(sequence.table)


def _chunk_end(sequence: Sequence, room: int) -> int:
    """Where a chunk of at most `room` rows ends: at the end of the tokens, or at the last block boundary before."""
    end = sequence.computed + room
    if end >= len(sequence.tokens):
        return len(sequence.tokens)
    return max(sequence.computed, end - end % BLOCK_TOKENS)
