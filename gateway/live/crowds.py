"""Prompts under way at one replica, counted by how they begin."""

from collections.abc import Sequence

from gateway.state.residency import Beginnings
from policies.affinity.alike import landmark, landmarks

MOST_TOLD = 16
"""Beginnings that other gateways are told of: those of more than one prompt go first."""


class Crowds:
    """Bounded by what is under way: log2(blocks) counts for each prompt, gone with it. Of this process's requests only."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def come(self, blocks: Sequence[bytes]) -> Sequence[bytes]:
        """A prompt of these blocks is sent. What is returned is to be given to `go`, once."""
        marks, counts = landmarks(blocks), self._counts
        for mark in marks:
            counts[mark] = counts.get(mark, 0) + 1
        return marks

    def go(self, marks: Sequence[bytes]) -> None:
        counts = self._counts
        for mark in marks:
            left = counts[mark] - 1
            if left:
                counts[mark] = left
            else:
                del counts[mark]

    def alike(self, blocks: Sequence[bytes], depth: int) -> int:
        """How many are under way that begin like the first `depth` of `blocks` (as far as the landmark of that depth), or like
        all of them where there are fewer.

        >>> crowds = Crowds()
        >>> marks = crowds.come([b"1", b"2", b"3"])
        >>> crowds.alike([b"1", b"2", b"x"], 2), crowds.alike([b"1", b"2", b"x"], 0)
        (1, 0)
        """
        counts = self._counts
        if not counts:
            return 0
        most = len(blocks)
        mark = landmark(blocks, depth if depth < most else most)
        return 0 if mark is None else counts.get(mark, 0)

    def told(self) -> Beginnings:
        """The fullest of them, MOST_TOLD at most."""
        if len(self._counts) <= MOST_TOLD:
            return tuple(self._counts.items())
        crowds = [(mark, count) for mark, count in self._counts.items() if count > 1]
        return tuple(sorted(crowds, key=lambda one: -one[1])[:MOST_TOLD])
