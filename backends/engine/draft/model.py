"""A draft model: a second, cheaper model with the same tokens guesses how the sequences of a batch go on.

It draws with the target's sampler at the target's positions, so with the target's noise: where the two models agree in
distribution they agree in tokens. Penalties and grammar go along with the guess.
"""

from collections.abc import Callable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import BLOCK_TOKENS, GrammarFault, LanguageModel
from backends.engine.blocks import BlockPool
from backends.engine.draft.costs import StepCosts
from backends.engine.draft.drafter import NOTHING, Outlook, Wanted
from backends.engine.draft.mirror import Mirror
from backends.engine.ragged import Rows, step_of
from backends.engine.sampler import Sampler
from backends.engine.sequence import Sequence

READ_ROWS = 128
"""Tokens that a step reads at most to catch up, so that a long prompt never stops the streams."""
AT_ONCE = 2
"""A sequence that lacks only these is always read: after a guess that was right throughout two tokens are unread."""

Logits = NDArray[np.float32]


@dataclass(slots=True)
class _Guessing:
    """One sequence in a round of guessing. `guess` grows by a token a pass."""

    wanted: Wanted
    mirror: Mirror
    sampler: Sampler
    guess: list[int] = field(default_factory=list)

    @property
    def unread(self) -> int:
        return len(self.wanted.sequence.tokens) + len(self.guess) - self.mirror.computed

    def rows(self, count: int) -> Rows:
        """The next `count` unread tokens. A token comes of it when these are all."""
        known, start = self.wanted.sequence.tokens, self.mirror.computed
        rest = known[start:] + self.guess[max(0, start - len(known)) :]
        return Rows(rest[:count], start, self.mirror.table, int(count == self.unread))

    def draw(self, logits: Logits) -> None:
        """Guess one more token; none where there is nothing to draw from, or where the grammar has come to its end."""
        if not np.isfinite(logits.max()):
            return
        try:
            token = self.sampler.choose(logits, len(self.wanted.sequence.tokens) + len(self.guess))
            self.sampler.count(token)
        except GrammarFault:
            return
        self.guess.append(token)

    def note(self, read: int) -> None:
        """So many more tokens are read. What stands beyond the known ones is a guess; the last guess is not read yet."""
        self.mirror.computed += read
        self.mirror.known, self.mirror.guess = len(self.wanted.sequence.tokens), self.guess


class ModelDrafter:
    """`vocab_size` is the target's. The draft's own may be padded otherwise; ids beyond either are never guessed."""

    def __init__(
        self, model: LanguageModel, vocab_size: int, clock: Callable[[], float], costs: StepCosts | None = None
    ) -> None:
        self.first_chances: tuple[float, ...] = (0.6,)
        self.pool = BlockPool(model.blocks)
        self._model = model
        self._vocab_size = vocab_size
        self._clock = clock
        self._costs = costs or StepCosts()
        self._mirrors: dict[int, Mirror] = {}  # least recently used first

    def begin(self, job_id: int, sampler: Sampler) -> None:
        self._mirrors[job_id] = Mirror(sampler)

    def outlook(self, sequence: Sequence, at_most: int) -> Outlook:
        room = min(self._model.context, self.pool.total * BLOCK_TOKENS) - len(sequence.tokens)
        if room <= 0:
            return NOTHING
        return Outlook(min(at_most, room), behind=self._mirrors[sequence.job_id].behind(sequence))

    def guess(self, wanted: Seq[Wanted]) -> list[list[int]]:
        guessing = [self._begin_round(each) for each in wanted]
        try:
            for depth in range(max(each.length for each in wanted)):
                self._pass([each for each in guessing if len(each.guess) == depth < each.wanted.length])
        except MemoryError:
            self._start_over()
        return [each.guess for each in guessing]

    def seconds(self, rows: int) -> float:
        return self._costs.seconds(rows) if self._costs.is_known else 0.0

    def forget(self, job_id: int) -> None:
        mirror = self._mirrors.pop(job_id, None)
        if mirror is not None:
            mirror.release(self.pool)

    def _begin_round(self, wanted: Wanted) -> _Guessing:
        job_id = wanted.sequence.job_id
        mirror = self._mirrors[job_id] = self._mirrors.pop(job_id)
        mirror.catch_up(wanted.sequence, self.pool)
        return _Guessing(wanted, mirror, mirror.sampler.ahead())

    def _pass(self, guessing: Seq[_Guessing]) -> None:
        """One forward pass: read what is unread and draw one more token for all who have read everything."""
        reading = self._readings(guessing)
        if not reading:
            return
        began = self._clock()
        self._book(reading, self._model.forward(step_of([rows for _, rows in reading])))
        self._costs.observe(sum(len(rows.tokens) for _, rows in reading), self._clock() - began)

    def _readings(self, guessing: Seq[_Guessing]) -> list[tuple[_Guessing, Rows]]:
        """Those with the least to read go first, so that one long prompt does not silence the others."""
        busy = {each.wanted.sequence.job_id for each in guessing}
        reading, left = [], READ_ROWS
        for each in sorted(guessing, key=lambda each: each.unread):
            count = min(each.unread, max(left, AT_ONCE if each.unread <= AT_ONCE else 0))
            if count and self._make_room(each.mirror, each.mirror.computed + count, busy):
                reading.append((each, each.rows(count)))
                left -= count
        return reading

    def _make_room(self, mirror: Mirror, tokens: int, busy: set[int]) -> bool:
        """Cover the tokens, at the cost of sequences that are not guessed for in this step."""
        while not mirror.extend(tokens, self.pool):
            idle = next((job for job, other in self._mirrors.items() if job not in busy and other.table), None)
            if idle is None:
                return False
            self._mirrors[idle].release(self.pool)
        return True

    def _book(self, reading: Seq[tuple[_Guessing, Rows]], logits: Logits) -> None:
        drawing = iter(logits)
        for each, rows in reading:
            if rows.wanted:
                each.draw(self._fitted(next(drawing)))
            each.note(len(rows.tokens))
            each.mirror.publish(each.wanted.sequence, self.pool)

    def _fitted(self, logits: Logits) -> Logits:
        lacking = self._vocab_size - logits.size
        return np.pad(logits, (0, lacking), constant_values=-np.inf) if lacking > 0 else logits[: self._vocab_size]

    def _start_over(self) -> None:
        """No memory for a pass: nothing of the KV is trusted any more."""
        for mirror in self._mirrors.values():
            mirror.release(self.pool)
        self.pool.clear()
