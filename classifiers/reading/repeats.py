"""Where a tail begins that says the same over and over."""

from collections.abc import Sequence

_PERIODS, _REPEATS, _LEAST = range(1, 25), 3, 4


class Repeats:
    """Of words from whose ends some are cut off again and again. How far back words come again after so many is remembered, so
    that all questions together read each of them once for every length of what is repeated."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._alike = [(0, 0)] * len(_PERIODS)

    def tail(self, first: int, last: int) -> int:
        """Where the words from `first` to `last` begin to say the same, of at most 24 words, three times over or more up to
        their end; `last` where they don't.

        >>> Repeats("so be it be it be it".split()).tail(0, 7)
        1
        """
        words = self._words
        for period in _PERIODS:
            if last - period <= first:
                break
            if words[last - 1] == words[last - 1 - period]:
                again = min(last - self._since(last, period), last - period - first) // period
                size = (again + 1) * period
                if size >= max(_REPEATS * period, _LEAST):
                    return last - size
        return last

    def _since(self, last: int, period: int) -> int:
        """From where on each word up to `last` is the one that stands `period` before it."""
        since, until = self._alike[period - 1]
        if not since < last <= until:
            words, since = self._words, last
            while since > period and words[since - 1] == words[since - 1 - period]:
                since -= 1
            self._alike[period - 1] = since, last
        return since
