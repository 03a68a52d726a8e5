"""Who is served next: priority classes, fair between salts within a class, first come first served within a salt.

Fairness is the virtual token counter of Sheng et al., "Fairness in Serving Large Language Models" (arXiv 2401.00588): each
salt is charged for the tokens it was served, the one that got least goes next, and one that comes back after a rest starts
level with the others, so rest cannot be saved up.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import chain
from operator import attrgetter

from backends.engine.sequence import Rank, Sequence

PREFILL_WEIGHT = 1
DECODE_WEIGHT = 2
"""A decoded token is charged twice a prompt token, the ratio of the paper."""

MAX_ABSENT = 4096
"""Counters kept of salts that have no job; the oldest beyond that are forgotten."""

_rank = attrgetter("rank")


class ServedTokens:
    """What every salt was served, in weighted tokens."""

    def __init__(self) -> None:
        self._served: dict[bytes, int] = {}
        self._jobs: dict[bytes, int] = {}

    def __getitem__(self, salt: bytes) -> int:
        return self._served[salt]

    def arrive(self, salt: bytes) -> None:
        """One more job of this salt. A salt that had none is lifted to the least served of those present."""
        if salt not in self._jobs:
            level = min((self._served[other] for other in self._jobs), default=0)
            self._served[salt] = max(self._served.pop(salt, 0), level)
        self._jobs[salt] = self._jobs.get(salt, 0) + 1

    def leave(self, salt: bytes) -> None:
        self._jobs[salt] -= 1
        if not self._jobs[salt]:
            del self._jobs[salt]
            self._forget_absent()

    def charge(self, salt: bytes, *, prefilled: int = 0, decoded: int = 0) -> None:
        self._served[salt] += PREFILL_WEIGHT * prefilled + DECODE_WEIGHT * decoded

    def _forget_absent(self) -> None:
        if len(self._served) > MAX_ABSENT + len(self._jobs):
            del self._served[next(salt for salt in self._served if salt not in self._jobs)]


class WaitingLine:
    """Sequences that hold no blocks, one line for each salt, each in the order of rank."""

    def __init__(self, served: ServedTokens) -> None:
        self._served = served
        self._lines: dict[bytes, list[Sequence]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __iter__(self) -> Iterator[Sequence]:
        return chain.from_iterable(self._lines.values())

    def put(self, sequence: Sequence) -> None:
        insort(self._lines.setdefault(sequence.job.salt, []), sequence, key=_rank)

    def next(self) -> Sequence | None:
        """The sequence to admit next; it stays in the line."""
        return min((line[0] for line in self._lines.values()), key=self._turn, default=None)

    def remove(self, sequence: Sequence) -> None:
        line = self._lines[sequence.job.salt]
        del line[bisect_left(line, sequence.rank, key=_rank)]
        if not line:
            del self._lines[sequence.job.salt]

    def _turn(self, head: Sequence) -> tuple[int, int, Rank]:
        return head.job.priority, self._served[head.job.salt], head.rank
