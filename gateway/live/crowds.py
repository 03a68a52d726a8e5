"""Prompts that wait at one replica for their first token, counted by how they begin."""

from collections import Counter
from collections.abc import Sequence

from policies.affinity.alike import landmark, landmarks


class Waiting:
    """Bounded by what waits: log2(blocks) counts for each prompt, gone with it. Of this process's requests only."""

    __slots__ = ("_counts", "prompts")

    def __init__(self) -> None:
        self._counts: Counter[bytes] = Counter()
        self.prompts = 0

    def __len__(self) -> int:
        return len(self._counts)

    def come(self, blocks: Sequence[bytes]) -> tuple[bytes, ...]:
        """A prompt of these blocks begins to wait. What is returned is to be given to `go`, once."""
        marks = landmarks(blocks)
        self._counts.update(marks)
        self.prompts += bool(marks)
        return marks

    def go(self, marks: Sequence[bytes]) -> None:
        self.prompts -= bool(marks)
        for mark in marks:
            self._counts[mark] -= 1
            if self._counts[mark] <= 0:
                del self._counts[mark]

    def alike(self, blocks: Sequence[bytes], depth: int) -> int:
        """How many wait that begin like the first `depth` of `blocks` (as far as the landmark of that depth).

        >>> waiting = Waiting()
        >>> marks = waiting.come([b"1", b"2", b"3"])
        >>> waiting.alike([b"1", b"2", b"x"], 2), waiting.alike([b"1", b"2", b"x"], 0)
        (1, 0)
        """
        mark = landmark(blocks, depth)
        return 0 if mark is None else self._counts[mark]
