"""Does a part of a text stand alone, or does it mean what stands around it?

"Why do cats purr?" is whole whatever stands behind it. "What does it say?", "Translate into English:" and "What does the
function return?" ask about what was handed over with them.
"""

import re
from collections.abc import Sequence

from classifiers.reading.openers import MINE, ORDERS, QUESTION, REFERS, SKIPPED
from classifiers.reading.words import PLAIN

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_NAMED = re.compile(r"\"[^\"\n]+\"|(?<!\w)'[^'\n]+'(?!\w)|[“«:]\s*\w")
"""What an order names itself: a quotation, or what follows a colon."""

_GOES_ON = re.compile(r"[:=>][\s*_]*$")
_ONE, _MANY = frozenset(("he", "she", "him", "her", "his")), frozenset(("they", "them", "their"))
_IT = frozenset(("it", "its"))
_POINTS = (REFERS - _ONE - _MANY - _IT - {"that"}) | frozenset(
    ("above", "below", "following", "given", "provided", "here", "attached", "shown")
)
_REFERS = _POINTS | _ONE | _MANY | _IT | {"that"}
_HANDED_WORDS = (
    "answer article attachment bugs cause class code column command complexity condition data document email equation "
    "expression file formula function grammar html input integral issue json letter letters line lines log logs matrix "
    "message method name names output paragraph passage phrase poem problem program query question result results row rows "
    "schema script sentence sentences sql statement string table test tests text title trace value values variable word words "
    "xml yaml happen happened happens idea thoughts going"
)
_WRONG_WORDS = (
    "bug bugs error errors exception mistake mistakes wrong broken broke breaks crash crashes crashed fail fails failed "
    "failing stuck hangs hung slow stopped"
)
_HANDED, _WRONG = frozenset(_HANDED_WORDS.split()), frozenset(_WRONG_WORDS.split())
"""What one hands over with a question; and what may be the matter with it."""

_HANDLES_WORDS = (
    "caption convert correct decode explain fix format improve interpret pronounce read rephrase reply rewrite shorten "
    "summarise summarize title transcribe translate transliterate"
)
_HANDLES = frozenset(_HANDLES_WORDS.split())
"""Orders that need something to be done to."""

_ASKED = SKIPPED | {"can", "could", "would", "you"}
_A = frozenset(("a", "an", "some", "each", "for"))
_OF = frozenset(("of", "for", "to", "from", "about", "between", "that", "a", "an"))
_YOU, _PLACES = frozenset(("you", "your")), frozenset(("in", "on", "at", "between", "for", "of"))
_MEANS_LITTLE = PLAIN | ORDERS | QUESTION | _HANDED | _WRONG | REFERS | MINE


def stands_alone(text: str) -> bool:
    """
    >>> stands_alone("Why do cats purr?"), stands_alone("What does it say?"), stands_alone("Translate into English:")
    (True, False, False)
    """
    sentences = [_WORD.findall(one.lower()) for one in _SENTENCE.split(text)]
    if _GOES_ON.search(text) or not any(_tells(one) for one in sentences):
        return False
    names = bool(_NAMED.search(text))
    if not names and any(map(_handles, sentences)):
        return False
    told = [False, *(any(map(_tells, sentences[: at + 1])) for at in range(len(sentences)))]
    return not any(_points(one, told=before, names=names) for one, before in zip(sentences, told, strict=False))


def _tells(words: Sequence[str]) -> bool:
    return any(word not in _MEANS_LITTLE for word in words)


def _handles(words: Sequence[str]) -> bool:
    opens = next((word for word in words if word not in _ASKED), "")
    return opens in _HANDLES and not any(map(str.isdigit, words))


def _points(words: Sequence[str], *, told: bool, names: bool) -> bool:
    """Whether a word of that sentence means what no word before it names; `told`: a sentence before it does."""
    if not _WRONG.isdisjoint(words) or _is_about_what_is_there(words):
        return True
    if "following" in words and not names:
        return True
    return any(_refers(words, at, told=told, names=names) for at in range(len(words)))


def _is_about_what_is_there(words: Sequence[str]) -> bool:
    """ "What would you change?", "Is there a race condition?" """
    if not _YOU.isdisjoint(words) and sum(word not in _MEANS_LITTLE for word in words) < 2:
        return True
    return words[1:2] == ["there"] and words[0] in ("is", "are") and _PLACES.isdisjoint(words)


def _refers(words: Sequence[str], at: int, *, told: bool, names: bool) -> bool:
    word, after = words[at], words[at + 1] if at + 1 < len(words) else ""
    if word in _HANDED:
        return at > 0 and not names and after not in _OF and not _is_any(words[:at])
    if told or word not in _REFERS:
        return False
    if word in _IT:
        return after not in ("take", "takes")  # "How long does it take to …"
    if word == "that":
        return not after or words[at - 1] in _MEANS_LITTLE  # not so in "birds that can't fly"
    if word in _POINTS:
        return not names
    return "my" not in words[:at] if word in _ONE else not _tells(words[:at])


def _is_any(before: Sequence[str]) -> bool:
    """Whether a noun behind these words is any one: "a short thank-you message"."""
    return next((word for word in reversed(before) if word in PLAIN), "") in _A
