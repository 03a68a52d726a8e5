"""How long models take to their first content, by how long the prompt is; what is called late is read from it."""

from bisect import bisect_left, insort
from collections import deque
from math import ceil

KEPT = 512
"""Waits that are remembered of each model and length: the last ones."""


class Waits:
    """The last KEPT of them, in seconds."""

    __slots__ = ("_in_order", "_sorted")

    def __init__(self) -> None:
        self._in_order: deque[float] = deque()
        self._sorted: list[float] = []

    def saw(self, wait_s: float) -> None:
        if len(self._in_order) == KEPT:
            gone = self._in_order.popleft()
            del self._sorted[bisect_left(self._sorted, gone)]
        self._in_order.append(wait_s)
        insort(self._sorted, wait_s)

    def percentile(self, percent: float) -> float:
        """0.0 until so many were seen that two of them should be later.

        >>> waits = Waits()
        >>> for i in range(40): waits.saw(i / 10)
        >>> waits.percentile(95), waits.percentile(99)
        (3.7, 0.0)
        """
        seen = len(self._sorted)
        if seen * (100 - percent) < 200:
            return 0.0
        return self._sorted[ceil(seen * percent / 100) - 1]


class Ttfts:
    """Of one process. A wait that was given up counts as long as it was: it would have been longer."""

    __slots__ = ("_waits",)

    def __init__(self) -> None:
        self._waits: dict[tuple[str, int], Waits] = {}

    def saw(self, model: str, prompt_tokens: int, wait_s: float) -> None:
        self._waits.setdefault((model, length_class(prompt_tokens)), Waits()).saw(wait_s)

    def percentile(self, model: str, prompt_tokens: int, percent: float) -> float:
        """In seconds; 0.0 where it is not known yet."""
        waits = self._waits.get((model, length_class(prompt_tokens)))
        return 0.0 if waits is None else waits.percentile(percent)


def length_class(prompt_tokens: int) -> int:
    """Prompts of one class differ in length by a factor of four at most.

    >>> [length_class(tokens) for tokens in (16, 63, 64, 255, 256)]
    [2, 2, 3, 3, 4]
    """
    return (prompt_tokens.bit_length() - 1) // 2 if prompt_tokens else 0
