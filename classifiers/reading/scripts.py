"""In which script a text is; and what a turn in English asks, without sentences in another one at its ends.

The encoder reads no Chinese or Russian, so a turn in one of them is not estimated. But "What is the capital of France?" is
whole without the line of Chinese behind it, and who adds one is not to have the large model for it.
"""

import re

from classifiers.reading.openers import WORD
from classifiers.reading.whole import stands_alone
from classifiers.reading.words import PLAIN

_SEEN_CHARS = 2_048  # of a text, or of a sentence, so much tells
_END = re.compile(r"[.!?:…。！？：｡।؟][*'\")\]}>」』”»]*\s*|\n\s*")
_OTHERS = re.compile(r"[^\x00-\u024f\u1e00-\u1eff\u2000-\u2bff]")  # neither Latin nor a mark
_RUN = re.compile(r"(?<=\w)[ \t]+(?=[^\W\d_a-zA-Z])")
_OTHER, _LATIN = 0.5, 0.05
_FEWEST_WORDS, _SENTENCE_CHARS = 3, 10
_MOST_CHARS = 8_192  # in more than this a sentence is no end
_NAMED = "arabic chinese greek hebrew hindi japanese korean persian russian thai ukrainian script scripts"
_NAMES = frozenset(_NAMED.split())
"""Of languages in other scripts: who names one asks about what stands beside, and nothing is cut off."""


def not_latin_share(text: str) -> float:
    """Share of the letters that belong to another script than Latin, 0..1; 0 where there are no letters.

    >>> not_latin_share("naïve"), not_latin_share("привет")
    (0.0, 1.0)
    """
    if text.isascii():
        return 0.0
    letters = [char for char in text[:_SEEN_CHARS] if char.isalpha()]
    # Latin with all its extensions ends at U+024F; U+1E00..U+1EFF holds Vietnamese and the like. µ and π are maths.
    other = sum(
        char > "\u024f" and not "\u1e00" <= char <= "\u1eff" and char not in "πµαβγδεθλμσφω" for char in letters
    )
    return other / len(letters) if letters else 0.0


def in_latin(text: str) -> str:
    """`text` without its first and last sentences that are in another script, where what remains is in Latin letters and means
    none of them; all of it else.

    >>> in_latin("What is the capital of France? 请仔细思考。")
    'What is the capital of France?'
    >>> in_latin("Translate this into English. 请仔细思考。")
    'Translate this into English. 请仔细思考。'
    """
    if text.isascii() or len(text) > _MOST_CHARS or not _OTHERS.search(text):
        return text
    whole = text.strip()
    found = (cut(whole) for cut in (_core, _before_run))
    return next((part for part in found if part != whole and _is_whole(part)), text)


def _core(text: str) -> str:
    """What remains when such sentences are gone from both ends."""
    bounds = [0, *(stop.end() for stop in _END.finditer(text)), len(text)]
    first, last = 0, len(bounds) - 1
    while last > first and _is_other(text[bounds[last - 1] : bounds[last]]):
        last -= 1
    while first < last and _is_other(text[bounds[first] : bounds[first + 1]]):
        first += 1
    return text[bounds[first] : bounds[last]].strip()


def _before_run(text: str) -> str:
    """What stands before a whole sentence that follows without a stop, if that is no object of its last word."""
    run = _RUN.search(text)
    if run is None:
        return text
    before, sentence = text[: run.start()], text[run.end() :]
    is_sentence = len(sentence) >= _SENTENCE_CHARS and _END.fullmatch(sentence[-1]) and _is_other(sentence)
    return before if is_sentence and before.split()[-1].lower() not in PLAIN else text


def _is_other(sentence: str) -> bool:
    """Or nothing at all."""
    return not sentence.strip() or not_latin_share(sentence) > _OTHER


def _is_whole(text: str) -> bool:
    words = WORD.findall(text.lower())
    is_latin = not_latin_share(text) <= _LATIN and not text.endswith(":")
    return is_latin and len(words) >= _FEWEST_WORDS and _NAMES.isdisjoint(words) and stands_alone(text)
