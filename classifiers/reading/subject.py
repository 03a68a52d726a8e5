"""What the rest of a text is about, beside a part of it, while pieces of it are cut off at both ends."""

from collections import Counter

from classifiers.reading.sense import stems


class Subject:
    """How often each word that means something stands in what is left of `text`. A word is counted once, and taken off once, so
    asking again after each cut costs no more than reading the text twice."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start, self._end = 0, len(text)
        self._counts: Counter[str] | None = None

    def shares(self, start: int, end: int, part: str) -> bool:
        """Whether a word of `part` also stands in the rest of what is left: all from character `start` to `end`.

        >>> subject = Subject("name a moon. which planet? be my moon.")
        >>> subject.shares(0, 38, "be my moon."), subject.shares(13, 38, "be my moon.")
        (True, False)
        """
        left = self._left(start, end)
        return any(left[word] > many for word, many in Counter(stems(part)).items())

    def _left(self, start: int, end: int) -> Counter[str]:
        """Of what is left, which is never more than it was."""
        if self._counts is None:
            self._counts = Counter(stems(self._text[start:end]))
        elif start > self._start or end < self._end:
            self._counts.subtract(stems(self._text[self._start : start]))
            self._counts.subtract(stems(self._text[end : self._end]))
        self._start, self._end = start, end
        return self._counts
