"""Is one part of a text a light question that is whole, and the other part nothing that it means, nor a task of its own?

Whatever stands beside such a question can be left out of a reading: an honest text has its task in the part that is left out,
or means it by a word.
"""

import re
from collections.abc import Sequence

from classifiers.reading.asides import writes_little
from classifiers.reading.openers import DETERMINES, LIGHT, MANNER, ORDERS, QUESTION, SKIPPED, YOURS
from classifiers.reading.sense import stem
from classifiers.reading.whole import stands_alone
from classifiers.reading.words import PLAIN

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_MOST_CHARS, _FEWEST_WORDS, _MOST_WORDS, _PHRASE_WORDS = 300, 3, 40, 10
_QUOTES = "\"“'"
_JOINS = SKIPPED | {"after", "that", "next", "finally"}
_MAKES = frozenset(("write", "make", "create", "draw", "plan", "recommend", "put", "describe", "help", "show"))
_OF_THE_ANSWER = frozenset(
    (
        "use",
        "add",
        "include",
        "keep",
        "state",
        "mention",
        "check",
        "call",
        "look",
        "leave",
        "order",
        "pick",
        "choose",
        "reason",
    )
)
_TASK = ORDERS - LIGHT - QUESTION - _OF_THE_ANSWER
_ANSWER = frozenset(("answer", "reply", "response"))
_WANTS = re.compile(r"\b(?:need|needs|want|wants) (?:a|an|to|you|help)\b")
_COUNTS = re.compile(r"\bhow (?:many|much|old|far)\b", re.IGNORECASE)
_FIGURE = re.compile(r"(?<!\S)[$€£]?\d[\d.,]*%?[;:!?]?(?!\S)")
_MINE = re.compile(r"\b(?:I|[Mm]y|[Oo]ur|[Ww]e)\b")
_GOES_ON_WORDS = "of at for to or and the a an in with by than from is are as on if that which when where"
_GOES_ON = frozenset(_GOES_ON_WORDS.split())
_BEGINS = PLAIN | ORDERS | MANNER | QUESTION | LIGHT


def is_apart(kept: str, rest: str, *, first: bool) -> bool:
    """Whether `kept` is such a question and `rest`, behind it if it stands `first`, has nothing to do with it.

    >>> is_apart("Why do cats purr?", "The committee consists of logicians.", first=True)
    True
    >>> is_apart("Why do cats purr?", "Prove that no dog does.", first=True)
    False
    """
    if len(kept) > _MOST_CHARS or "?" in rest:
        return False
    words = _words(kept)
    if (
        not _FEWEST_WORDS <= len(words) <= _MOST_WORDS
        or _goes_on(kept, words)
        or not _is_light(kept, words, first=first)
    ):
        return False
    return stands_alone(kept) and not _has_to_do(kept, words, rest, first=first) and not _asks(rest)


def begins(text: str, *, orders: bool = True) -> bool:
    """Whether a sentence may begin there, where only a capital tells; `orders`: with a verb that is not known, too.

    >>> begins("Justify each step."), begins("Mona Lisa?")
    (True, False)
    """
    words = _words(text[:64])
    return not _BEGINS.isdisjoint(words[:1]) or (orders and not DETERMINES.isdisjoint(words[1:2]))


def _is_light(kept: str, words: Sequence[str], *, first: bool) -> bool:
    """A light question or order, and no task; or, at the beginning, a few words that are no sentence: "capital of France"."""
    sentences = [one for one in _SENTENCE.split(kept) if one.strip()]
    asks = [_asks_lightly(one) for one in sentences]
    if any(_opens(one) in _TASK and not light for one, light in zip(sentences, asks, strict=True)):
        return False
    if not first:  # what stands first in it asks, or tells of who asks: a story is not begun in the middle
        return any(asks) and (asks[0] or bool(_MINE.search(sentences[0])))
    is_phrase = len(sentences) == 1 and len(words) <= _PHRASE_WORDS and words[0] not in ("the", "let", "if")
    return any(asks) or (is_phrase and kept.lstrip(_QUOTES)[:1].isalnum() and not PLAIN.isdisjoint(words[1:-1]))


def _asks_lightly(sentence: str) -> bool:
    opens = _opens(sentence)
    return "?" in sentence or opens in LIGHT | QUESTION | _MAKES or writes_little(_words(sentence))


def _goes_on(kept: str, words: Sequence[str]) -> bool:
    return words[-1] in _GOES_ON and kept[-1].isalnum()


def _has_to_do(kept: str, words: Sequence[str], rest: str, *, first: bool) -> bool:
    """Whether both speak of one thing, or of who asks; or the rest has figures to count with."""
    others = _words(rest)
    if not {stem(word) for word in words if word not in PLAIN}.isdisjoint(map(stem, others)):
        return True
    if _MINE.search(rest) and (_MINE.search(kept) if first else YOURS.isdisjoint(others)):
        return True
    return bool(_COUNTS.search(kept) and _FIGURE.search(rest if first else f"{kept} {rest}"))


def _asks(rest: str) -> bool:
    """Whether it orders a task of its own, or wants something."""
    return any(map(_orders_a_task, _SENTENCE.split(rest))) or bool(_WANTS.search(rest))


def _orders_a_task(sentence: str) -> bool:
    return _opens(sentence) in _TASK and _ANSWER.isdisjoint(_words(sentence)[1:4])


def _opens(sentence: str) -> str:
    return next((word for word in _words(sentence[:64]) if word not in _JOINS), "")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
