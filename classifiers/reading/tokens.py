"""The pieces of a text between white space, by kind: glue of English, words of appeal, words of a task, junk."""

import re
from bisect import bisect
from collections.abc import Sequence
from typing import NamedTuple

from classifiers.reading.words import APPEAL, PLAIN

_PIECE = re.compile(r"\S+")
_TAGGED_PIECE = re.compile(r"</?\w+>|(?:(?!</?\w+>)\S)+")
_LETTERS = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ENDS = re.compile(r"[.!?;:…][*'\")\]}>]*$")
_MARKS = "([{<#*\"'`.,;:!?…)]}>-—–_\\/|~$"
_OPENS = "([{<#-—–*\"'"
_OPERATORS = frozenset("+-*/=<>≤≥×÷|&^%–?")
_NUMBER = re.compile(r"[$€£#(]*\d[\d.,:/%-]*+[A-Za-z]{0,3}[.,;:!?)%]*")  # gives nothing back: its dots are many in junk


class Token(NamedTuple):
    """`kind`: "plain" English glue, "appeal", "word", "strange" (junk, or two words grown together), "other"."""

    start: int
    end: int
    text: str
    word: str
    kind: str
    opens: bool
    new_line: bool
    ends: bool


class Tokens:
    """The pieces of a text between white space, each looked at when it is first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        pieces = (_TAGGED_PIECE if ">" in text else _PIECE).finditer(text)
        self._spans = [piece.span() for piece in pieces]
        self.first, self.last = 0, len(self._spans)
        self._made: list[Token | None] = [None] * self.last

    def __len__(self) -> int:
        return self.last - self.first

    def __getitem__(self, at: int) -> Token:
        at += self.first if at >= 0 else self.last
        return self._made[at] or self._make(at)

    def _make(self, at: int) -> Token:
        start, end = self._spans[at]
        before = self._text[self._spans[at - 1][1] if at else 0 : start]
        token = self._made[at] = _token(start, end, self._text[start:end], "\n" in before)
        return token

    def words(self) -> list[str]:
        """The pieces themselves."""
        return [self._text[start:end] for start, end in self._spans[self.first : self.last]]

    def last_line(self) -> int:
        """Which token the last line begins with."""
        end = self._spans[self.last - 1][1] if len(self) else 0
        return max(self.first, bisect(self._spans, (self._text.rfind("\n", 0, end), 0))) - self.first

    def text(self, start: int, end: int) -> str:
        """What stands from one token up to another; something must."""
        return self._text[self[start].start : self[end - 1].end]

    def part(self, start: int, end: int) -> list[Token]:
        return [self[at] for at in range(start, end)]


def _token(start: int, end: int, piece: str, new_line: bool) -> Token:
    letters = _LETTERS.findall(piece)
    # One word, with marks at its ends only: `(hard!)`, not `std::vector` or `x2y`.
    whole = len(letters) == 1 and piece.strip(_MARKS) == letters[0]
    word = letters[0].lower() if whole else "".join(filter(str.isalnum, piece)).lower()
    kind = _kind(piece, word) if whole else "strange" if _is_strange(piece, word, letters) else "other"
    return Token(start, end, piece, word, kind, piece[0] in _OPENS, new_line, bool(_ENDS.search(piece)))


def _kind(piece: str, word: str) -> str:
    if word in PLAIN:
        return "plain"
    return "appeal" if word in APPEAL else "strange" if piece[0] in "\\_@" else "word"


def _is_strange(piece: str, word: str, letters: Sequence[str]) -> bool:
    """Marks that are no operator, words grown together with marks, letters and digits mixed; not a number or a formula."""
    if not word:
        return piece not in _OPERATORS and piece.strip(".") != ""
    if _NUMBER.fullmatch(piece):
        return False
    return any(len(part) > 2 for part in letters) or (len(word) > 3 and word == piece.lower())
