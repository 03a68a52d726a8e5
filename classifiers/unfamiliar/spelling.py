"""What a text looks like letter by letter: the codes of its characters, and what is counted in it. No meaning, no model."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classifiers.reading.words import PLAIN

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]

COUNTED = ("unconnected words", "repetition", "marks", "figures", "foreign letters")
"""What is counted, in the order of `Spelled.counts`; the first by words that are none of English glue."""

_SEEN_CHARS = 2048
_GAP = re.compile(r"[^\S\n]+")
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
_KNOWN = "\n abcdefghijklmnopqrstuvwxyz0.,?!'\"-()$:;/="
_OTHER_ASCII, _OTHER = len(_KNOWN), len(_KNOWN) + 1
KINDS = len(_KNOWN) + 2
"""Of characters: letters without case and accents, one for all digits, common marks, other ASCII, anything else."""

_CODE = {ord(char): at for at, char in enumerate(_KNOWN)} | {ord(digit): _KNOWN.index("0") for digit in "123456789"}
_TABLE = "".join(chr(_CODE.get(at, _OTHER_ASCII)) for at in range(128))


class Look(NamedTuple):
    """One text: `codes` of its characters between two spaces; `counts` [5, 2]: how many, of how many that could be."""

    codes: Codes
    counts: Floats


@dataclass(frozen=True, slots=True)
class Spelled:
    """Texts as they look, aligned by position."""

    looks: tuple[Look, ...]

    def take(self, rows: NDArray[np.intp]) -> "Spelled":
        """The texts at these positions, in this order."""
        return Spelled(tuple(self.looks[at] for at in rows.tolist()))


def spell(texts: Sequence[str]) -> Spelled:
    """Looks at each text, whose appeals are gone already."""
    return Spelled(tuple(map(look, texts)))


def look(asked: str) -> Look:
    """Of a long text its first 1536 and last 512 characters are looked at.

    >>> look("Hi!").codes.tolist()
    [1, 9, 10, 32, 1]
    """
    seen = asked if len(asked) <= _SEEN_CHARS else asked[: _SEEN_CHARS * 3 // 4] + "\n" + asked[-_SEEN_CHARS // 4 :]
    plain = _plain(seen)
    return Look(_codes(plain), _counts(seen, plain))


def _plain(seen: str) -> str:
    """Lower case, accents apart from their letters and gone."""
    lower = seen.lower()
    if lower.isascii():
        return lower
    return "".join(char for char in unicodedata.normalize("NFD", lower) if unicodedata.category(char) != "Mn")


def _codes(plain: str) -> Codes:
    text = f" {_GAP.sub(' ', plain).strip()} "
    if text.isascii():
        return np.frombuffer(text.translate(_TABLE).encode(), np.uint8)
    return np.array([_CODE.get(ord(char), _OTHER if char > "\x7f" else _OTHER_ASCII) for char in text], np.uint8)


def _counts(seen: str, plain: str) -> Floats:
    tokens = _TOKEN.findall(plain)
    words = [token for token in tokens if token[0].isalpha()]
    pairs = list(pairwise(tokens))
    shown = "".join(seen.split())
    marks = sum(len(token) == 1 and not token.isalnum() for token in tokens)
    foreign = 0 if seen.isascii() else sum(char > "\x7f" for char in shown)
    counted = (
        (len(words) - sum(word in PLAIN for word in words), len(words)), (len(pairs) - len(set(pairs)), len(pairs)),
        (marks, len(shown)), (sum(map(str.isdigit, shown)), len(shown)), (foreign, len(shown)),
    )  # fmt: skip
    return np.array(counted, np.float64)
