"""The draft model's side of one sequence: what of it stands in the draft's own KV, and in which of its blocks.

Nobody tells a mirror what became of the target's sequence: accepted, rejected, preempted and resumed all look alike from
here, as tokens that it has not read, or that differ from what it guessed.
"""

from array import array
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

from backends.engine.api import BLOCK_TOKENS
from backends.engine.blocks import BlockPool, blocks_for
from backends.engine.sampler import Sampler
from backends.engine.sequence import Sequence


@dataclass(slots=True)
class Mirror:
    """Positions below `computed` are written. From `known` on they hold tokens of `guess`, which may prove wrong.

    The first `offered` blocks are published, or were found published.
    """

    sampler: Sampler
    table: "array[int]" = field(default_factory=lambda: array("i"))
    computed: int = 0
    known: int = 0
    offered: int = 0
    guess: list[int] = field(default_factory=list)

    def behind(self, sequence: Sequence) -> int:
        """Known tokens to be read before the next can be guessed, beyond the last one."""
        return len(sequence.tokens) - 1 - self._right(sequence)

    def catch_up(self, sequence: Sequence, pool: BlockPool) -> None:
        """Keep what proved right, and share what others have written."""
        self.computed, self.guess = self._right(sequence), []
        if self.computed == len(self.table) * BLOCK_TOKENS:
            self._attach(sequence, pool)

    def extend(self, tokens: int, pool: BlockPool) -> bool:
        """Take free blocks until the table covers this many tokens; False if the pool ran out before."""
        while len(self.table) < blocks_for(tokens):
            block = pool.take()
            if block is None:
                return False
            self.table.append(block)
        return True

    def publish(self, sequence: Sequence, pool: BlockPool) -> None:
        """Offer what is written to others. Only what is known: no block may be found that holds a guess."""
        known = min(self.computed, len(sequence.tokens))
        for index in range(self.offered, known // BLOCK_TOKENS):
            pool.publish(self.table[index], sequence.digest(index), sequence.contents(index))
            self.offered += 1

    def release(self, pool: BlockPool) -> None:
        pool.release(reversed(self.table))
        del self.table[:]
        self.computed, self.offered, self.guess = 0, 0, []

    def _right(self, sequence: Sequence) -> int:
        """How many written positions hold the sequence's tokens; the last token is always left to be read."""
        written = self.computed
        if self.guess:
            came = sequence.tokens[self.known : self.known + len(self.guess)]
            written = min(written, self.known + _alike(came, self.guess))
        return min(written, len(sequence.tokens) - 1)

    def _attach(self, sequence: Sequence, pool: BlockPool) -> None:
        for index in range(len(self.table), (len(sequence.tokens) - 1) // BLOCK_TOKENS):
            block = pool.find(sequence.digest(index), sequence.contents(index))
            if block is None:
                return
            pool.hold(block)
            self.table.append(block)
            self.computed += BLOCK_TOKENS
            self.offered += 1


def _alike(some: Seq[int], others: Seq[int]) -> int:
    """Length of the common beginning."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(some), len(others)))
