"""Cheap signals of one turn: length, code, maths, digits, question form, script, what is asked for. No model, no I/O.

Nothing here looks at the case of letters, at how wide a gap between words is, or at appeals around a question, so none of
them moves an estimate.
"""

import re
from collections.abc import Sequence
from math import log1p

import numpy as np
from numpy.typing import NDArray

from classifiers.features import structure
from classifiers.reading.appeals import without_appeals
from classifiers.reading.lexicon import GROUPS
from classifiers.reading.scripts import not_latin_share

_MAX_CHARS = 2048
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_NUMBER = re.compile(r"\d[\d,.]*")
_GAP = re.compile(r"[^\S\n]+")
_MARK = re.compile(r"[^\w\s]")
_SENTENCE = re.compile(r"[.!?](?:\s|$)")
_MATHS = ("=", "^", "<", ">", "+", "*", "/", "\\", "$", "±", "∑", "∫", "√", "π", "∞", "∈", "∀", "∃", "≤", "≥", "≡")
_CODE = ("{", "}", "[", "]", ";", "```", "==", "!=", "->", "=>", "::", "()", "def ", "class ", "return ", "import ")

_QUESTION = GROUPS["what"] | {"why", "how", "is", "are", "was", "were", "do", "does", "did", "can", "could", "should"}
_COUNTS = tuple(GROUPS)
_GROUPS_OF: dict[str, tuple[int, ...]] = {
    word: tuple(at for at, name in enumerate(_COUNTS) if word in GROUPS[name])
    for word in frozenset().union(*GROUPS.values())
}

NAMES: tuple[str, ...] = (
    "log_chars", "log_words", "word_chars", "longest_word", "log_lines", "log_sentences", "words_per_sentence",
    "distinct_words", "long_words", "digit_share", "log_numbers", "longest_number", "mark_share",
    "not_ascii_share", "not_latin_share", "asks", "opens_with_question", "opens_with_order",
    "ends_with_answer", "log_maths_marks", "log_code_marks", "money", "is_short_question",
    *structure.NAMES, *(f"log_{name}" for name in _COUNTS), *(f"share_{name}" for name in _COUNTS),
)  # fmt: skip
_ORDERS = (
    GROUPS["build"] | GROUPS["proof"] | GROUPS["light_task"] | GROUPS["why"] | frozenset(("find", "solve", "compute"))
)


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, apostrophes kept: `["don't", "panic"]`."""
    return _WORD.findall(text.lower())


def lexical(text: str) -> NDArray[np.float32]:
    """The features of one turn, float32 [len(NAMES)], each roughly within 0..10; of a long text, of its two ends.

    >>> lexical("")[NAMES.index("log_chars")].item()
    0.0
    """
    return lexical_of(without_appeals(text))


def lexical_of(asked: str) -> NDArray[np.float32]:
    """The same of a text whose appeals are gone already."""
    seen = _two_ends(asked).lower().strip()
    words = words_of(seen)
    values = (*_shape(asked, seen, words), *_marks(seen, words), *structure.of(seen, words), *_asked(words))
    return np.asarray(values, dtype=np.float32)


def lexical_rows(texts: Sequence[str]) -> NDArray[np.float32]:
    """`lexical` of each text, float32 [n, len(NAMES)]."""
    return lexical_rows_of([without_appeals(text) for text in texts])


def lexical_rows_of(asked: Sequence[str]) -> NDArray[np.float32]:
    """The same of texts whose appeals are gone already."""
    return np.stack([lexical_of(text) for text in asked]) if asked else np.zeros((0, len(NAMES)), np.float32)


def _two_ends(text: str) -> str:
    """Gaps made one space; of a long text its first 1536 and last 512 characters."""
    if len(text) > _MAX_CHARS:
        text = text[: _MAX_CHARS * 3 // 4] + "\n" + text[-_MAX_CHARS // 4 :]
    return _GAP.sub(" ", text)


def _shape(text: str, seen: str, words: list[str]) -> tuple[float, ...]:
    size = len(seen) if len(text) <= _MAX_CHARS else len(text)
    count = max(1, len(words))
    sentences = max(1, len(_SENTENCE.findall(seen)))
    lengths = [len(word) for word in words] or [0]
    return (
        log1p(size), log1p(len(words)), sum(lengths) / count, log1p(max(lengths)), log1p(seen.count("\n")),
        log1p(sentences), log1p(count / sentences), len(set(words)) / count, sum(n >= 9 for n in lengths) / count,
    )  # fmt: skip


def _marks(seen: str, words: list[str]) -> tuple[float, ...]:
    size = max(1, len(seen))
    numbers = _NUMBER.findall(seen)
    first, asks = words[0] if words else "", "?" in seen
    return (
        sum(map(len, numbers)) / size, log1p(len(numbers)),
        log1p(max(map(len, numbers), default=0)), len(_MARK.findall(seen)) / size,
        0.0 if seen.isascii() else sum(char > "\x7f" for char in seen) / size, not_latin_share(seen),
        float(asks), float(first in _QUESTION), float(first in _ORDERS),
        float(seen.endswith("answer:")), log1p(_count(seen, _MATHS)), log1p(_count(seen, _CODE)),
        log1p(seen.count("$") + seen.count("%")), float(asks and len(words) <= 12),
    )  # fmt: skip


def _asked(words: list[str]) -> tuple[float, ...]:
    counts = [0] * len(_COUNTS)
    for word in words:
        for at in _GROUPS_OF.get(word, ()):
            counts[at] += 1
    size = max(1, len(words))
    return (*map(log1p, counts), *(count / size for count in counts))


def _count(seen: str, marks: Sequence[str]) -> int:
    return sum(map(seen.count, marks))
