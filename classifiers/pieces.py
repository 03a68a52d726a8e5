"""Word pieces in plain Python: lower case, no accents, marks apart, then the longest known piece first."""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

UNFINISHED = "##"
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
_MOST_CHARS = 100
_REMEMBERED_WORDS = 1 << 13


class WordPieces:
    """Numbers of known pieces, as BERT's uncased tokenizer cuts (Wu et al. 2016); a word with an unknown part is left out."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        """`numbers` by piece; one that goes on inside a word begins with `##`."""
        self._numbers = numbers
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
        for end in range(len(word), start, -1):
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
