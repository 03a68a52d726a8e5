"""A clause at the end of a light question that orders how to answer it: "…, with a proof by induction", "… as a logician".

No full stop parts it from what is asked. A task that is built or proved may well require such a thing, so it counts only behind
what a few words answer.
"""

import re
from collections.abc import Sequence

from classifiers.reading.asides import is_learned, opens_lightly, writes_little
from classifiers.reading.lexicon import GROUPS
from classifiers.reading.openers import FORM, HOW, MANNER, ORDERS, QUESTION, REPLY, SKIPPED, STANDS_FOR, WORD
from classifiers.reading.sense import content
from classifiers.reading.tokens import Tokens
from classifiers.reading.words import GREETS

_PARTED = re.compile(r"(?:[,;:|]|[-–—]+|\.\.\.)[)\]\"']*$")
_STOP = re.compile(r"[.!?…][)\]\"']*$")
_BRACKETS = "([{<"
_FEWEST_WORDS = 3
_FORM_WITHIN = 7
_SAYS_WITHIN = 24  # tokens: what an order is of stands at its beginning
_TALK = frozenset(("give", "suggest", "tell", "say", "make", "for", "that"))
_JOINING = (
    "with using in under from as like while plus and because since then including along assuming modulo given w up"
)
_VERBS, _SAYS_HOW, _OF_IT = ORDERS | MANNER, MANNER | HOW, REPLY | STANDS_FOR | {"your"}
_TELLS = FORM | _VERBS
_PARTS = re.compile(r"[,;:|(\[{<–—]| -")
_JOINS = frozenset(_JOINING.split())
_LIGHT = QUESTION | GROUPS["light_task"] | _TALK


def may_have_clause(asked: str) -> bool:
    """Whether it opens with what asks for little, and goes on with something that might be one. Some 5 us."""
    words = WORD.findall(asked.lower())
    opens = next((word for word in words if word not in SKIPPED), "")
    if opens not in _LIGHT and opens not in GREETS and not writes_little(words):
        return False
    return bool(_PARTS.search(asked)) or not _TELLS.isdisjoint(words[1:]) or is_learned(words[1:])


def clause(tokens: Tokens) -> int:
    """Where such a clause begins in what asks for little: as early as can be; all of the text where there is none. Behind a
    greeting that goes on with something else it begins at once."""
    many = len(tokens)
    greets = next((at for at in range(many) if tokens[at].word and tokens[at].word not in GREETS), many)
    if greets and greets < many - 1 and tokens[greets].word not in _LIGHT:
        orders = _is_how(tokens, greets, parted=tokens[greets].word in _SAYS_HOW, behind_light=False)
        return greets if orders else many
    begins = next((at for at in range(many - 1, 0, -1) if _STOP.search(tokens[at - 1].text)), 0)
    light = opens_lightly(tokens, begins)
    return next((at for at in range(begins + 1, many - 1) if _is_clause(tokens, at, light)), many)


def _is_clause(tokens: Tokens, at: int, behind_light: bool) -> bool:
    parted = _is_parted(tokens, at)
    return (parted or tokens[at].word in _JOINS) and _is_how(tokens, at, parted=parted, behind_light=behind_light)


def _is_parted(tokens: Tokens, at: int) -> bool:
    return bool(_PARTED.search(tokens[at - 1].text)) or tokens[at].text[0] in _BRACKETS


def _is_how(tokens: Tokens, at: int, *, parted: bool, behind_light: bool) -> bool:
    words = [token.word for token in tokens.part(at, min(at + _SAYS_WITHIN, len(tokens))) if token.word]
    if len(words) < _FEWEST_WORDS - parted:
        return False
    tells = _tells_form(words, parted) or _orders_it(words, parted) or (behind_light and _is_of_a_subject(words))
    if not (tells or (parted and words[0] in _SAYS_HOW)):
        return False
    text = tokens.text(at, len(tokens))
    return "?" not in text and not any(map(str.isdigit, text)) and not content(text) & content(tokens.text(0, at))


def _tells_form(words: Sequence[str], parted: bool) -> bool:
    """Joined on or parted, and soon it names a form that an answer has: a proof, a style, rigour."""
    return (parted or words[0] in _JOINS) and not FORM.isdisjoint(words[1:_FORM_WITHIN])


def _is_of_a_subject(words: Sequence[str]) -> bool:
    """A learned one, soon; and no question or order of its own."""
    opens = next((word for word in words if word not in SKIPPED), "")
    soon = [part for word in words[:_FORM_WITHIN] for part in word.split("-")]
    return opens not in _VERBS and opens not in QUESTION and is_learned(soon)


def _orders_it(words: Sequence[str], parted: bool) -> bool:
    """An order about the answer: "derive it from …", "and prove your answer …"; parted, whatever the verb: "cast it as …"."""
    if parted and words[1] in STANDS_FOR:
        return True
    said = [word for word in words if word not in SKIPPED]
    return bool(said) and said[0] in _VERBS and not _OF_IT.isdisjoint(said[1:4])
