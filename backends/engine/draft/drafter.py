"""What a drafter is: it guesses how a sequence goes on. A wrong guess costs a row, never a result."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Guess(NamedTuple):
    """Next tokens, and a `grade` of how much the drafter believes in them: an index into its `first_chances`."""

    tokens: list[int]
    grade: int


NOTHING = Guess([], 0)


class Drafter(Protocol):
    """Guesses for many sequences, told apart by job id.

    `first_chances` is, for each grade, how likely a token of such a guess is right, before a sequence has shown it.
    """

    first_chances: tuple[float, ...]

    def guess(self, job_id: int, tokens: Sequence[int], at_most: int) -> Guess:
        """Up to `at_most` tokens to follow `tokens`, prompt and output so far. They only ever grow for one id."""
        ...

    def forget(self, job_id: int) -> None:
        """The sequence is over. Unknown ids are harmless."""
        ...
