"""Word pieces in plain Python: lower case, no accents, marks apart, then the longest known piece first."""

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

UNFINISHED = "##"
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
_MOST_CHARS = 100
_TOGETHER = 16
_REMEMBERED_WORDS = 1 << 13


class Numbers(Protocol):
    """A dictionary, say."""

    def get(self, piece: str, /) -> int | None: ...


class Vocabulary:
    """Numbers of pieces by their place, in order, a few together in one text: 28,000 of them have .4 MB, as a dictionary 3.4.
    A look takes .6 us more, and what words come to is remembered.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        """No piece has a line end."""
        order = sorted(range(len(pieces)), key=pieces.__getitem__)
        runs = [[pieces[at] for at in order[begin : begin + _TOGETHER]] for begin in range(0, len(order), _TOGETHER)]
        self._numbers = array("I", order)
        self._firsts = [run[0] for run in runs]
        self._runs = ["\n".join(["", *run, ""]) for run in runs]

    def get(self, piece: str, /) -> int | None:
        """
        >>> [Vocabulary(["un", "##do", "!"]).get(piece) for piece in ("!", "##do", "und")]
        [2, 1, None]
        """
        run = bisect_right(self._firsts, piece) - 1
        at = self._runs[run].find(f"\n{piece}\n") if run >= 0 else -1
        return None if at < 0 else self._numbers[run * _TOGETHER + self._runs[run].count("\n", 0, at)]


class WordPieces:
    """Numbers of known pieces, as BERT's uncased tokenizer cuts (Wu et al. 2016); a word with an unknown part is left out."""

    def __init__(self, numbers: Numbers, longest: int = _MOST_CHARS) -> None:
        """`numbers` by piece; one that goes on inside a word begins with `##`. None has more than `longest` characters."""
        self._numbers = numbers
        self._longest_piece = longest
        self._of_word = lru_cache(_REMEMBERED_WORDS)(self._cut)

    def numbers(self, text: str) -> list[int]:
        """The pieces of a text, in order.

        >>> WordPieces({"un": 0, "##do": 1, "!": 2}).numbers("Undo what? !")
        [0, 1, 2]
        """
        return [number for word in _TOKEN.findall(_plain(text)) for number in self._of_word(word)]

    def _cut(self, word: str) -> tuple[int, ...]:
        found: list[int] = []
        start = 0
        while start < len(word) <= _MOST_CHARS:
            number, start = self._longest(word, start)
            if number is None:
                return ()
            found.append(number)
        return tuple(found)

    def _longest(self, word: str, start: int) -> tuple[int | None, int]:
        for end in range(min(len(word), start + self._longest_piece), start, -1):
            number = self._numbers.get((UNFINISHED if start else "") + word[start:end])
            if number is not None:
                return number, end
        return None, start


def _plain(text: str) -> str:
    """Lower case without accents.

    >>> _plain("Ärger")
    'arger'
    """
    lower = text.lower()
    if lower.isascii():
        return lower
    return "".join(char for char in unicodedata.normalize("NFD", lower) if unicodedata.category(char) != "Mn")
