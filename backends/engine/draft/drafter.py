"""What a drafter is: it guesses how a sequence goes on. A wrong guess costs a row, never a result.

First it tells what it could guess, which is nearly free; then it is asked for as many tokens as pay.
"""

from collections.abc import Sequence as Seq
from typing import NamedTuple, Protocol

from backends.engine.sampler import Sampler
from backends.engine.sequence import Sequence


class Outlook(NamedTuple):
    """What could be guessed: `tokens` of them, believed in by `grade`, an index into the drafter's `first_chances`.

    `place` is the drafter's own note of where. `behind`: tokens it must read before it can guess at all.
    """

    tokens: int = 0
    grade: int = 0
    place: int = 0
    behind: int = 0


NOTHING = Outlook()


class Wanted(NamedTuple):
    """`length` tokens of an outlook, at least one and at most its `tokens`."""

    sequence: Sequence
    outlook: Outlook
    length: int


class Drafter(Protocol):
    """Guesses for many sequences, told apart by job id; the tokens of one only ever grow.

    `first_chances` is, for each grade, how likely a token of such a guess is right, before there is evidence.
    """

    first_chances: tuple[float, ...]

    def begin(self, job_id: int, sampler: Sampler) -> None:
        """A sequence was taken up; `sampler` is how its tokens are drawn."""
        ...

    def outlook(self, sequence: Sequence, at_most: int) -> Outlook:
        """What could follow prompt and output so far, at most `at_most` tokens."""
        ...

    def guess(self, wanted: Seq[Wanted]) -> list[list[int]]:
        """The tokens, one list for each; shorter or empty where there is no telling yet."""
        ...

    def seconds(self, rows: int) -> float:
        """What one pass costs that guesses one token for each of `rows` sequences; 0 for one who looks up."""
        ...

    def forget(self, job_id: int) -> None:
        """The sequence is over. Unknown ids are harmless."""
        ...
