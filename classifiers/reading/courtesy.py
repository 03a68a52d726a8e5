"""A text without the courtesy at its ends: greetings, wishes, thanks, pleas for help, "here is my question:".

A sentence is courtesy where each of its words is one of courtesy or glue between the two who speak, and one tells of which
kind. It says nothing of the matter, so who is polite is read like who is not. Either end is looked at word by word up to the
first that says something: most texts cost two look-ups.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from classifiers.reading.manners import (
    CALLS,
    DAYTIMES,
    GREETS,
    MATERIAL,
    MOST_WORDS,
    OPENS,
    POINTS,
    SMILES,
    WORDS,
    Kind,
    kinds,
)
from classifiers.reading.openers import DETERMINES, HOW, MANNER, MINE, ORDERS, QUESTION, STANDS_FOR, WORD, YOURS
from classifiers.reading.options import offers
from classifiers.reading.words import ADDRESS, PLAIN

_PIECE = re.compile(r"\S+")
_GAP = re.compile(r"\s*")
_MARKS = ".,!?…:;-–—~()"
_END_CHARS = 600  # so much of either end
_LAST_CHARS = 64
_ASK_CHARS = 2048  # so much of either end of what is left is looked at for an order
_STOP = re.compile(r"[.!?…][*'\"”’)\]}>]*$")
_LABEL = re.compile(r"\(?(?:[A-Za-z]|\d{1,2})[.)]$")
_INNER_LABEL = re.compile(r"\(?[A-J][.)]$")
_HANGS = (":", ",", ";", "–", "—")
_ELSEWHERE = re.compile(r"[\"“”:`]|'\w[^']*'|\n")
_CLAUSE = re.compile(
    r"(?:^|[.!?…:;,\n])[\s*#>-]{0,8}(?:(?:please|kindly|now|then|also|so|and|i|i'd|we)\s{1,4}){0,4}([^\W\d_]+)(?:\s{1,4}([\w']+))?"
)
_CLAUSE_OF_IT = re.compile(r"(?:with|and|as|by|in|at|for|or|but|to|from|under|using|including|plus)\b", re.IGNORECASE)
_NEEDS = frozenset(("need", "want", "would", "like"))
_NO_VERBS = PLAIN | ADDRESS | MANNER
_FEWEST_WORDS = 4  # who says less, and asks nothing, chats
_GREETING_WORDS = 4  # who is more polite than this in front has a matter
_MERE = frozenset[Kind](("greets", "thanks"))


class _Piece(NamedTuple):
    """What stands between white space, the word in it without marks, and whether a line begins with it."""

    end: int
    text: str
    word: str
    new_line: bool

    @property
    def is_polite(self) -> bool:
        return self.word in WORDS or self.text in SMILES


class _Front(NamedTuple):
    """Where a text goes on behind its courtesy, and of what kinds that is."""

    start: int
    kinds: frozenset[Kind]


def without_courtesy(text: str, *, greeting: bool = True) -> str:
    """`text` without courtesy at its ends; all of it where what is left asks nothing, or may be work on a courtesy.
    `greeting`: also without a greeting or thanks in front that may be all that somebody came to say; else before a plain
    question only.

    >>> without_courtesy("Hi! I hope you are well. Could you help me with this? Why is the sky blue? Many thanks!")
    'Why is the sky blue?'
    >>> without_courtesy("thanks a lot!"), without_courtesy("Thank you. Translate that into French.")
    ('thanks a lot!', 'Thank you. Translate that into French.')
    """
    start, told = _front(text)
    if start == len(text):
        return text  # who says nothing but courtesy means it
    end = _back(text, start)
    if _may_be_all(text[:start], told) and not (greeting or _asks_plainly(text[start:end])):
        start = 0
    if start == 0 and end == len(text):
        return text
    left = text[start:end]
    return left if _is_whole(left) else text


def _may_be_all(courtesy: str, told: frozenset[Kind]) -> bool:
    """That somebody came to say: "thanks!", "How are you doing today?"; it may stand before an appeal."""
    return told <= _MERE and ("?" in courtesy or len(courtesy.split()) <= _GREETING_WORDS)


def _front(text: str) -> _Front:
    start, told, sentence = 0, frozenset[Kind](), list[_Piece]()
    for piece in _pieces(text, _END_CHARS):
        if not piece.is_polite:
            return _Front(start, told)
        sentence.append(piece)
        gap = _GAP.match(text, piece.end)
        follows = gap.end() if gap else piece.end
        ends = _ends(piece, "\n" in text[piece.end : follows]) or _calls(
            sentence, text[follows : follows + _LAST_CHARS]
        )
        if ends and (found := _kinds(sentence)):
            start, told, sentence = follows, told | found, []
    return _Front(len(text), told)


def _ends(piece: _Piece, before_line: bool) -> bool:
    return before_line or piece.text.endswith((":", "–", "—")) or bool(_STOP.search(piece.text))


def _calls(sentence: Sequence[_Piece], then: str) -> bool:
    """ "Hello everybody,", and no clause of it follows: "hi, with a proof"."""
    if not sentence[-1].text.endswith(",") or _CLAUSE_OF_IT.match(then):
        return False
    words = {piece.word for piece in sentence}
    return words <= GREETS | CALLS | DAYTIMES | {"good", "my"}


def _back(text: str, start: int) -> int:
    """Where the text ends before its courtesy."""
    sentence, end, joined = list[_Piece](), len(text), 0
    if not _may_end_politely(text):
        return end
    for piece, before in _pairs_from_behind(text, start):
        if not piece.is_polite:
            break
        sentence.insert(0, piece)
        if len(sentence) > MOST_WORDS:
            break
        if _begins(piece, before):
            if not _kinds(sentence):
                break
            end, joined, sentence = before.end, 0, []
        elif _joins(piece, before) and _kinds(sentence):
            joined = before.end
    end = joined or end
    return end - 1 if joined and text[end - 1] == "," else end


def _may_end_politely(text: str) -> bool:
    """Its last word does, and nothing is to follow it."""
    last = text[-_LAST_CHARS:].rsplit(None, 1)
    return bool(last) and not last[-1].endswith(":") and _piece(last[-1].strip(), 0, False).is_polite


def _pairs_from_behind(text: str, start: int) -> Iterator[tuple[_Piece, _Piece]]:
    """Each piece beside the one before it, last ones first."""
    spans = [found.span() for found in _PIECE.finditer(text, max(start, len(text) - _END_CHARS))]
    last = len(spans) - 1
    later = _piece_at(text, spans, last) if spans else None
    for at in range(last - 1, -1, -1):
        before = _piece_at(text, spans, at)
        if later:
            yield later, before
        later = before


def _piece_at(text: str, spans: Sequence[tuple[int, int]], at: int) -> _Piece:
    start, end = spans[at]
    return _piece(text[start:end], end, at == 0 or "\n" in text[spans[at - 1][1] : start])


def _begins(piece: _Piece, before: _Piece) -> bool:
    """A sentence, behind another one or what is to be filled in."""
    if before.text.endswith(":"):
        return before.word == "answer"
    if piece.new_line:
        return not before.text.endswith(_HANGS)
    if _INNER_LABEL.match(before.text) or (before.new_line and _LABEL.match(before.text)):
        return False
    return bool(_STOP.search(before.text))


def _joins(piece: _Piece, before: _Piece) -> bool:
    """It does so without a stop: "What is 2 + 2 Thanks!", "Name a moon, please"."""
    if piece.word not in OPENS or before.word in WORDS or (before.new_line and _LABEL.match(before.text)):
        return False
    comma = before.text.endswith(",")
    return comma or (piece.text[0].isupper() and not before.text.endswith(_HANGS))


def _kinds(sentence: Sequence[_Piece]) -> frozenset[Kind]:
    return kinds([piece.word for piece in sentence if piece.word], asks="?" in sentence[-1].text)


def _pieces(text: str, end: int) -> Iterator[_Piece]:
    for found in _PIECE.finditer(text, 0, end):
        yield _piece(found.group(), found.end(), False)


def _piece(piece: str, end: int, new_line: bool) -> _Piece:
    return _Piece(end, piece, piece.strip(_MARKS).lower().replace("’", "'"), new_line)


def _is_whole(left: str) -> bool:
    """What is left asks something, or tells something that is not of who asks; and it is no work on a courtesy."""
    if offers(left):
        return True
    words = WORD.findall(_ends_of(left))
    if not MATERIAL.isdisjoint(words) and _is_of_another_text(left, words):
        return False
    return asks(left) or (len(words) >= _FEWEST_WORDS and MINE.isdisjoint(words))


def _is_of_another_text(left: str, words: Sequence[str]) -> bool:
    """ "Translate this into French.", "Translate into French." """
    if _ELSEWHERE.search(left):
        return False
    return not POINTS.isdisjoint(words) or any(
        word in MATERIAL and then in ("to", "into") for word, then in pairwise(words)
    )


def _asks_plainly(left: str) -> bool:
    """And nothing of who is to answer."""
    return offers(left) or ("?" in left and YOURS.isdisjoint(WORD.findall(_ends_of(left))))


def asks(left: str) -> bool:
    """A question, an order, a need, or options."""
    return "?" in left or offers(left) or any(_orders(*clause) for clause in _CLAUSE.findall(_ends_of(left)))


def _orders(first: str, then: str) -> bool:
    """ "Name a moon", "I need a proof", "provide an example"; not "derive it from the axioms"."""
    if first in QUESTION or first in _NEEDS:
        return True
    is_verb = first in ORDERS or not (first in _NO_VERBS or first.endswith(("s", "ed", "ing", "ly")))
    return then not in STANDS_FOR | HOW if first in ORDERS else is_verb and then in DETERMINES - STANDS_FOR


def _ends_of(left: str) -> str:
    """Its ends in small letters, without empty lines."""
    seen = left if len(left) <= 2 * _ASK_CHARS else f"{left[:_ASK_CHARS]}\n{left[-_ASK_CHARS:]}"
    return "\n".join(filter(None, map(str.strip, seen.lower().split("\n"))))
