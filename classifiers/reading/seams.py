"""Where one text may have been put behind another, and how what stands on either side is built.

"What is the capital of France? // prove memory safety" has a seam before its marks. What is told of both sides names no
subject: how long they are, how they end, what share of them is glue, marks or figures, whether they ask, order or refer, and
what they have in common. So a head on it (`apart.py`) can't learn what an appeal speaks of, and does not hang on it.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classifiers.heads.inputs import Floats
from classifiers.reading.openers import HOW, LIGHT, MANNER, MINE, ORDERS, QUESTION, REFERS, SKIPPED, YOURS
from classifiers.reading.sense import stem
from classifiers.reading.words import ADDRESS, GREETS, PLAIN

MOST_SEAMS = 16
"""Half of them from either end."""

_PIECE = re.compile(r"\S+")
_STOPPED = re.compile(r"[.!?…。？！][*'\")\]}>]*$")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_BOUND = re.compile(r"(?:(?<=[.!?;])\s+|\n\s*)(?=\S)")
_COUNTED = tuple(map(re.compile, (r"\d", r"[^\w\s]", r"[^\x00-\x7f]", r"[A-Z]", r"\?", r"[`\\$]")))
_OPERATORS = frozenset(("==", "!=", "<=", ">=", "->", *"+-*/=<>≤≥×÷|&^%–—±∈→"))
_CLOSERS, _ENDS = "*'\")]}>", "?.!:"
_KINDS = ("line", "stop", "marks", "capital")
CAPITAL = 3
_OPENING_WORDS = 6
_FEWEST_LETTERS = 4  # of a word that says what a text is about
_REMEMBERED_WORDS = 8192

_ANY = frozenset(("every", "each", "all", "any", "it", "this", "everything", "whatever", "your", "its", "no"))
_JOINS = SKIPPED | {"then", "after", "that", "next", "finally", "also", "or"}
_OF_WORDS = (REFERS, PLAIN, ADDRESS, YOURS, MINE, GREETS)

Places = NDArray[np.int64]


class Seams(NamedTuple):
    """`at`: places in the text; `behind` and `before` [seams, features]: of what follows each as an addition to what stands
    before it, and the other way round."""

    at: tuple[int, ...]
    behind: Floats
    before: Floats

    def kinds(self) -> list[int]:
        """Of each seam: in a new line, after a stop, before marks, before a CAPITAL."""
        return [int(kind) for kind in self.behind[:, -len(_KINDS) :].argmax(axis=1)]


def seams(text: str) -> Seams | None:
    """None where there is no seam.

    >>> seams("What is the capital of France?") is None
    True
    >>> seams("Who was it? // as a lemma").at
    (12,)
    """
    found = _places(text)
    if not found:
        return None
    if len(found) > MOST_SEAMS:
        found = [*found[: MOST_SEAMS // 2], *found[-MOST_SEAMS // 2 :]]
    at = np.array([place for place, _ in found])
    first, second, shared = _sides(text, at)
    kinds = np.eye(len(_KINDS))[[kind for _, kind in found]]
    return Seams(
        tuple(at.tolist()),
        np.hstack([second, first, _pair(shared, second, first), kinds]),
        np.hstack([first, second, _pair(shared, first, second), kinds]),
    )


def _places(text: str) -> list[tuple[int, int]]:
    """Each seam, and which kind it is of: in a new line, after a stop, before marks, before a capital."""
    found: list[tuple[int, int]] = []
    before, ended = "", 0
    for piece in _PIECE.finditer(text):
        token = piece.group()
        if before and (kind := _kind(text[ended : piece.start()], before, token)) is not None:
            found.append((piece.start(), kind))
        before, ended = token, piece.end()
    return found


def _kind(gap: str, before: str, token: str) -> int | None:
    if "\n" in gap:
        return 0
    if _STOPPED.search(before):
        return 1
    if not token[0].isalnum() and token[0] not in "'’¿¡" and token not in _OPERATORS:
        return 2
    is_capital = token[0].isupper() and len(token) > 1 and not token.isupper() and not before[0].isupper()
    goes_on = before.lower() in PLAIN or before in _OPERATORS  # "P(x) = P(y)Q(z)" is one formula
    return 3 if is_capital and not goes_on else None


def _pair(shared: Floats, part: Floats, rest: Floats) -> Floats:
    """What both are about: how many words, and which share of those of either."""
    of_part, of_rest = np.expm1(part[:, :1]), np.expm1(rest[:, :1])
    return np.hstack([np.log1p(shared), shared / np.maximum(1, of_part), shared / np.maximum(1, of_rest)])


def _sides(text: str, at: Places) -> tuple[Floats, Floats, Floats]:
    """Of what stands before each seam, of what follows it, [seams, features] each; and how many words both are about."""
    words = [(word.start(), word.group()) for word in _WORD.finditer(text.lower())]
    opens = [0, *(bound.end() for bound in _BOUND.finditer(text))]
    starts = np.array([start for start, _ in words], np.int64)
    facts = np.array([_facts(word)[:-1] for _, word in words], float).reshape(len(words), len(_OF_WORDS))
    by_word = np.searchsorted(starts, at)
    sums = np.vstack([np.zeros(len(_OF_WORDS)), facts.cumsum(0)])
    asked = np.array([_asks(words, int(np.searchsorted(starts, start))) for start in opens], float)
    asked_at = np.array([_asks(words, int(place)) for place in by_word], float)
    asks = np.vstack([np.zeros(asked.shape[1]), asked.cumsum(0)])
    begun = np.searchsorted(np.array(opens), at)  # sentences that begin before each seam
    cut = (begun < len(opens)) & (np.array([*opens, -1])[begun] == at)
    after = asks[-1] - asks[begun] + np.where(cut[:, None], 0, asked_at)
    counted = np.array([_before(pattern, text, at) for pattern in _COUNTED]).T  # [seams, side, patterns]
    first, last = _occurrences(words)
    about = np.array([[(first < place).sum(), (last >= place).sum()] for place in at.tolist()], float).reshape(-1, 2)
    shared = np.array([[float(((first < place) & (last >= place)).sum())] for place in at.tolist()])
    one = _side(about[:, :1], (at, by_word, begun), sums[by_word], counted[:, 0], asks[begun])
    sizes = len(text) - at, len(words) - by_word, len(opens) - begun + ~cut
    other = _side(about[:, 1:], sizes, sums[-1] - sums[by_word], counted[:, 1], after)
    ends = np.array([_ended(text[:place]) for place in at.tolist()])
    end = np.tile(_ended(text), (len(at), 1))
    opened = np.tile(_opened(words, 0, text), (len(at), 1))
    opened_at = np.array(
        [_opened(words, int(by), text[place:]) for by, place in zip(by_word, at.tolist(), strict=True)]
    )
    return np.hstack([one, ends, opened]), np.hstack([other, end, opened_at]), shared


def _side(
    about: Floats, sizes: tuple[Places, Places, Places], of_words: Floats, counted: Floats, asks: Floats
) -> Floats:
    """`sizes` are its characters, words and sentences; the others are counts, [seams, kinds] each."""
    size, many, some = (np.maximum(1, one)[:, None] for one in sizes)
    shares = of_words / many
    return np.hstack([
        np.log1p(about), np.log1p(np.column_stack(sizes)), about / many, shares[:, :3],
        of_words[:, 3:5] > 0, shares[:, 5:], counted[:, :4] / size, counted[:, 4:] > 0, asks / some, asks[:, [0, 3]] > 0,
    ])  # fmt: skip


def _before(pattern: re.Pattern[str], text: str, at: Places) -> tuple[Places, Places]:
    """How often it is found before each seam, and how often after it."""
    places = np.array([found.start() for found in pattern.finditer(text)], np.int64)
    before = np.searchsorted(places, at)
    return before, len(places) - before


@lru_cache(_REMEMBERED_WORDS)
def _facts(word: str) -> tuple[float, float, float, float, float, float, str]:
    """Of which kinds a word is; its stem where it says what a text is about, or ""."""
    refers, plain, address, yours, mine, greets = (float(word in kind) for kind in _OF_WORDS)
    is_about = len(word) >= _FEWEST_LETTERS and not plain
    return refers, plain, address, yours, mine, greets, stem(word) if is_about else ""


def _occurrences(words: list[tuple[int, str]]) -> tuple[Places, Places]:
    """Where each word that says what the text is about is found first, and where last."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for start, word in words:
        if name := _facts(word)[-1]:
            first.setdefault(name, start)
            last[name] = start
    return np.array(list(first.values()), np.int64), np.array(list(last.values()), np.int64)


def _asks(words: list[tuple[int, str]], begins: int) -> tuple[bool, bool, bool, bool]:
    """Whether a sentence that begins with that word orders, asks, tells how; and orders a thing of its own."""
    opening = [word for _, word in words[begins : begins + _OPENING_WORDS] if word not in _JOINS]
    if not opening:
        return False, False, False, False
    orders, follows = opening[0] in ORDERS, opening[1] if len(opening) > 1 else "it"
    return orders, opening[0] in QUESTION, opening[0] in MANNER, orders and follows not in _ANY and follows not in HOW


def _ended(text: str) -> list[bool]:
    end = text.rstrip().rstrip(_CLOSERS)[-1:]
    return [end == mark for mark in _ENDS]


def _opened(words: list[tuple[int, str]], begins: int, text: str) -> list[bool]:
    word = words[begins][1] if begins < len(words) else ""
    asks = next((one for _, one in words[begins : begins + _OPENING_WORDS] if one not in _JOINS), "")
    return [word in PLAIN, word in REFERS, asks in LIGHT, text[:1].isupper()]
