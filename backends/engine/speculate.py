"""How many draft tokens a step verifies: as many as make the whole batch faster, none when that is none.

Every draft row has a chance to be accepted, measured for this sequence and this grade of guess. A row is worth its cost while
chance * cost(batch) > expected tokens * cost(row) (goodput, after TurboSpec, arXiv 2406.14066). The batch's own rows are in
both sides, so drafts thin out under load and stop by themselves. Results never depend on it.
"""

from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from typing import Protocol

from backends.engine.draft.drafter import NOTHING, Drafter, Guess
from backends.engine.scheduler import Chunk
from backends.engine.sequence import Sequence

LEARN = 0.1
RECOVER = 0.002
"""How fast an estimate returns to the first one while nothing is proposed, so that a sequence gets another try.

A drafter that is always wrong is then asked for one row in some ten steps, which costs below 1 %.
"""


class Costs(Protocol):
    """The cost of a row relative to the fixed cost of a step."""

    def slope(self) -> float: ...


@dataclass(slots=True)
class Acceptance:
    """Chances of one sequence's draft tokens by grade, decayed. `first` is where they began."""

    first: tuple[float, ...]
    chances: list[float]

    def learn(self, grade: int, proposed: int, accepted: int) -> None:
        for hit in [1.0] * accepted + [0.0] * (accepted < proposed):
            self.chances[grade] += LEARN * (hit - self.chances[grade])

    def recover(self, grade: int) -> None:
        self.chances[grade] += RECOVER * (self.first[grade] - self.chances[grade])


@dataclass(slots=True)
class Speculator:
    """Chooses drafts for a step and learns from what became of them. `proposed` and `accepted` count draft tokens."""

    drafter: Drafter
    max_draft: int
    costs: Costs
    proposed: int = 0
    accepted: int = 0
    _acceptance: dict[int, Acceptance] = field(default_factory=dict)
    _grades: dict[int, int] = field(default_factory=dict)

    def propose(self, decoding: Seq[Sequence]) -> list[list[int]]:
        guesses = [self._guess(sequence) for sequence in decoding]
        chances = [self._chances(sequence, guess) for sequence, guess in zip(decoding, guesses, strict=True)]
        lengths = worthwhile(chances, self.costs.slope())
        for sequence, guess, length in zip(decoding, guesses, lengths, strict=True):
            self._grades[sequence.job_id] = guess.grade
            if guess.tokens and not length:
                self._of(sequence).recover(guess.grade)
        return [guess.tokens[:length] for guess, length in zip(guesses, lengths, strict=True)]

    def learn(self, chunk: Chunk, accepted: int) -> None:
        """What became of the drafts of a chunk."""
        proposed = len(chunk.draft)
        if not proposed:
            return
        self.proposed += proposed
        self.accepted += accepted
        self._of(chunk.sequence).learn(self._grades[chunk.sequence.job_id], proposed, accepted)

    def forget(self, job_id: int) -> None:
        self.drafter.forget(job_id)
        self._acceptance.pop(job_id, None)
        self._grades.pop(job_id, None)

    def _guess(self, sequence: Sequence) -> Guess:
        """Never beyond the cap: the last allowed token needs no draft behind it."""
        at_most = min(self.max_draft, sequence.room - 1)
        if at_most <= 0:
            return NOTHING
        guess = self.drafter.guess(sequence.job_id, sequence.tokens, at_most)
        return Guess(guess.tokens[:at_most], guess.grade)

    def _chances(self, sequence: Sequence, guess: Guess) -> list[float]:
        each = self._of(sequence).chances[guess.grade]
        return [each**depth for depth in range(1, len(guess.tokens) + 1)]

    def _of(self, sequence: Sequence) -> Acceptance:
        found = self._acceptance.get(sequence.job_id)
        if found is None:
            first = self.drafter.first_chances
            found = self._acceptance[sequence.job_id] = Acceptance(first, list(first))
        return found


def worthwhile(chances: Seq[Seq[float]], slope: float) -> list[int]:
    """How many draft rows of each sequence pay, given the falling chances of each and the relative cost of a row.

    >>> worthwhile([[0.9, 0.8], [0.1]], slope=0.1)
    [2, 0]
    """
    lengths = [0] * len(chances)
    expected = float(len(chances))
    cost = 1 + slope * len(chances)
    best_first = sorted(((chance, which) for which, row in enumerate(chances) for chance in row), reverse=True)
    for chance, which in best_first:
        if chance * cost <= expected * slope:
            break
        lengths[which] += 1
        expected += chance
        cost += slope
    return lengths
