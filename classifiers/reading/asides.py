"""What stands before a light question or within it, shares nothing with it, and speaks of a learned subject.

"[task=theorem_proving] What is the capital of France?", "For a seminar on complexity: what …", "What, by transfinite
induction if need be, is …?". Like what follows a question (`clauses.py`), it may be meant, so it is left out of the other
reading alone.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from classifiers.reading.lexicon import GROUPS
from classifiers.reading.openers import FORM, MINE, ORDERS, QUESTION, REFERS, SKIPPED, WORD, YOURS
from classifiers.reading.sense import content
from classifiers.reading.tokens import Tokens
from classifiers.reading.words import GREETS

_CLOSES = re.compile(r"(?:[,;:|>.!…]|[-–—]+)[)\]}\"']*$|[)\]}]$")
_BRACKET = "[<{("
_MARKS = re.compile(r"[,;:|>.!…)\]}–—-]\s|\n")
_ASKS_SHORTLY = GROUPS["what"] | GROUPS["light_task"] | frozenset(("how", "suggest", "give", "tell", "say", "make"))
_EVERYDAY_WORDS = (
    "as would mind account language terms point paper chapter style manner set sets real sum product group"
)
_EVERYDAY = frozenset(_EVERYDAY_WORDS.split())
_LEARNED = (GROUPS["proof"] | GROUPS["systems"] | GROUPS["maths_noun"] | FORM) - _EVERYDAY
_ENDS_LEARNED = re.compile(
    r"\w{2}(?:ology|ologists?|ometry|ometers|ometric|graphers?|ics|icists?|ysis|ebras?|orems?|morphic|morphism|otopy|calculus|"
    r"maticians?|theoretic|theorists?|ability|ibility|lemma|tivity|[sz]ation|utation|ification|ption)$"
)
_LITTLE = frozenset(("short", "brief", "quick", "little"))
_FEWEST_WORDS, _MOST_WORDS = 2, 40
_GREETING_WORDS = 3


def is_learned(words: Iterable[str]) -> bool:
    """Whether one of these words, in small letters, is of a learned subject, or of a form that its answers have.

    >>> is_learned(["modern", "topology"]), is_learned(["under", "two", "minutes"])
    (True, False)
    """
    return any(word in _LEARNED or _ENDS_LEARNED.search(word) for word in words)


def may_have_aside(asked: str) -> bool:
    """Some 5 us for a sentence."""
    if not (begins := asked.split(maxsplit=1)):
        return False
    first = begins[0]
    return first[0] in _BRACKET or "=" in first or (bool(_MARKS.search(asked)) and is_learned(_words(asked)))


def without_opening(asked: str) -> str:
    """`asked` from its light question on, where what stands before it is such a thing, a label in brackets, or junk.

    >>> without_opening("As a note on modern topology: what is the capital of France?")
    'what is the capital of France?'
    """
    tokens = Tokens(asked)
    for at in range(1, min(len(tokens), _MOST_WORDS)):
        if _may_begin(tokens, at) and _is_before(tokens, at):
            return tokens.text(at, len(tokens))
    return asked


def without_middle(asked: str) -> str:
    """`asked` without what stands between two marks in its light question.

    >>> without_middle("What, in terms of modern topology, is the capital of France?")
    'What is the capital of France?'
    """
    tokens = Tokens(asked)
    many = len(tokens)
    if many < 2 or not opens_lightly(tokens, 0):
        return asked
    parts = [at for at in range(1, many) if _parts(tokens, at)]
    for start, end in pairwise(parts):
        if _is_aside(tokens, start, end):
            return f"{tokens.text(0, start).rstrip(' ,;:-–—([')} {tokens.text(end, many)}"
    return asked


def _may_begin(tokens: Tokens, at: int) -> bool:
    before = tokens[at - 1]
    is_parted = tokens[at].new_line or before.kind == "strange" or _CLOSES.search(before.text)
    return bool(is_parted) and opens_lightly(tokens, at)


def writes_little(words: Sequence[str]) -> bool:
    """
    >>> writes_little("write a short toast".split()), writes_little("write a short proof".split())
    (True, False)
    """
    return words[:1] == ["write"] and not _LITTLE.isdisjoint(words[1:3]) and not is_learned(words[3:5])


def opens_lightly(tokens: Tokens, at: int) -> bool:
    """Whether what a few words answer begins there, or a greeting that is all."""
    if tokens[at].word in _ASKS_SHORTLY or writes_little(_words(tokens.text(at, min(at + 5, len(tokens))))):
        return True
    rest = _words(tokens.text(at, len(tokens)))
    return tokens[at].word in GREETS and len(rest) <= _GREETING_WORDS


def _is_before(tokens: Tokens, at: int) -> bool:
    before, rest = tokens.text(0, at), tokens.text(at, len(tokens))
    words = _words(before)
    if content(before) & content(rest) or not REFERS.isdisjoint(_words(rest)) or "?" in before:
        return False
    if (before[0] in _BRACKET and before[-1] in ")]}>") or all(one.kind == "strange" for one in tokens.part(0, at)):
        return True
    if any(map(str.isdigit, before)) or (not MINE.isdisjoint(words) and YOURS.isdisjoint(words)):
        return False
    return len(words) >= _FEWEST_WORDS and not _asks(words) and is_learned(words)


def _parts(tokens: Tokens, at: int) -> bool:
    return bool(_CLOSES.search(tokens[at - 1].text)) or tokens[at].text[0] in _BRACKET


def _is_aside(tokens: Tokens, start: int, end: int) -> bool:
    inside, words = tokens.text(start, end), _words(tokens.text(start, end))
    around = f"{tokens.text(0, start)} {tokens.text(end, len(tokens))}"
    if len(words) < _FEWEST_WORDS or "?" in inside or any(map(str.isdigit, inside)) or _asks(words):
        return False
    return is_learned(words) and not content(inside) & content(around)


def _asks(words: list[str]) -> bool:
    opens = next((word for word in words if word not in SKIPPED), "")
    return opens in QUESTION or opens in ORDERS


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower())
