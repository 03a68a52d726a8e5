"""A clause at the end of a light question that orders how to answer it: "…, with a proof by induction", "… as a logician".

No full stop parts it from what is asked. A task that is built or proved may well require such a thing, so it counts only behind
what a few words answer.
"""

import re
from collections.abc import Sequence

from classifiers.appeal_tokens import Tokens
from classifiers.lexicon import GROUPS
from classifiers.reading_words import FORM, HOW, MANNER, ORDERS, QUESTION, REPLY, SKIPPED, STANDS_FOR
from classifiers.sense import content

_PARTED = re.compile(r"(?:[,;:|]|[-–—]+|\.\.\.)[)\]\"']*$")
_STOP = re.compile(r"[.!?…][)\]\"']*$")
_BRACKETS = "([{<"
_FEWEST_WORDS = 3
_FORM_WITHIN = 7
_TALK = frozenset(("give", "suggest", "tell", "say", "make", "good", "yep", "yeah"))
_LIGHT = QUESTION | GROUPS["light_task"] | GROUPS["greeting"] | _TALK
_JOINING = "with using in under from as like while plus and because since then including along"
_JOINS = frozenset(_JOINING.split())


def clause(tokens: Tokens) -> int:
    """Where such a clause begins: as early as can be; all of the text where there is none."""
    many = len(tokens)
    if not many or _opens(tokens) not in _LIGHT:
        return many
    begins = next((at for at in range(many - 1, 0, -1) if _STOP.search(tokens[at - 1].text)), 0)
    return next((at for at in range(begins + 1, many - 1) if _may_begin(tokens, at) and _is_how(tokens, at)), many)


def _opens(tokens: Tokens) -> str:
    return next((tokens[at].word for at in range(len(tokens)) if tokens[at].word not in SKIPPED), "")


def _may_begin(tokens: Tokens, at: int) -> bool:
    return _is_parted(tokens, at) or tokens[at].word in _JOINS


def _is_parted(tokens: Tokens, at: int) -> bool:
    return bool(_PARTED.search(tokens[at - 1].text)) or tokens[at].text[0] in _BRACKETS


def _is_how(tokens: Tokens, at: int) -> bool:
    text, rest = tokens.text(at, len(tokens)), tokens.text(0, at)
    words = [token.word for token in tokens.part(at, len(tokens)) if token.word]
    if "?" in text or any(map(str.isdigit, text)) or len(words) < _FEWEST_WORDS or content(text) & content(rest):
        return False
    return _tells_form(words) or _orders_it(words) or (_is_parted(tokens, at) and words[0] in MANNER | HOW)


def _tells_form(words: Sequence[str]) -> bool:
    """Joined on, and soon it names a form that an answer has: a proof, a style, rigour."""
    return words[0] in _JOINS and not FORM.isdisjoint(words[1:_FORM_WITHIN])


def _orders_it(words: Sequence[str]) -> bool:
    """An order about the answer: "derive it from …", "and prove your answer …"."""
    verb, *follow = [word for word in words if word not in SKIPPED]
    return verb in ORDERS | MANNER and not (REPLY | STANDS_FOR | {"your"}).isdisjoint(follow[:3])
