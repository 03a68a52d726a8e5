"""Does a sentence speak of the answer and of who gives it, or of the task? By what it means, where no list has its words.

A logistic line over the sentence's static vector and what kinds of words it has. taught/sense.py makes `sense.json`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import log1p
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers.embedding.static import StaticEmbedder, open_static
from classifiers.reading.words import ADDRESS, APPEAL, PLAIN

WEIGHTS = Path(__file__).parent / "sense.json"
_REST_CHARS = 400
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NO_CONTENT = PLAIN | APPEAL | ADDRESS
_YOU, _ME, _THIS = frozenset(("you", "your")), frozenset(("i", "my", "me", "we", "our")), frozenset(("this", "it"))


class Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`weights` are for the vector and then the kinds; above `cut` a sentence is an appeal. `card` says how they came about."""

    weights: tuple[float, ...]
    cut: float
    card: dict[str, object]


@dataclass(frozen=True, slots=True)
class Sense:
    """What `sense.json` holds, ready to be asked."""

    static: StaticEmbedder
    weights: NDArray[np.float64]
    cut: float

    def is_appeal(self, sentence: str, rest: str) -> bool:
        """Of a sentence beside the rest of its turn: one of them is the task, and not what looks more like an appeal."""
        mine, others = (columns(self.static, (sentence, rest[:_REST_CHARS])) @ self.weights).tolist()
        return bool(mine > self.cut and mine > others)


@cache
def open_sense(path: Path = WEIGHTS) -> Sense:
    """Reads the weights: the shipped ones unless named."""
    found = msgspec.json.decode(path.read_bytes(), type=Weights)
    return Sense(open_static(), np.array(found.weights), found.cut)


def columns(static: StaticEmbedder, sentences: Sequence[str]) -> NDArray[np.float64]:
    """What the line reads of each sentence, [n, width + kinds + 1]; the last column is 1."""
    kinds = np.array([_kinds(sentence.lower()) for sentence in sentences])
    return np.hstack([static.vectors(sentences), kinds, np.ones((len(sentences), 1))])


def content(text: str) -> frozenset[str]:
    """The words that say what a text is about, without their endings.

    >>> sorted(content("Which planets are the largest planets?"))
    ['planet']
    """
    return frozenset(stems(text))


def stems(text: str) -> list[str]:
    """The same in order, as often as they stand there."""
    return [stem(word) for word in _WORD.findall(text.lower()) if _means(word)]


def _means(word: str) -> bool:
    return len(word) > 3 and word not in _NO_CONTENT


def stem(word: str) -> str:
    """
    >>> stem("planets"), stem("asked")
    ('planet', 'ask')
    """
    return next((word.removesuffix(end) for end in ("ing", "ies", "ed", "es", "s") if word.endswith(end)), word)


def _kinds(sentence: str) -> tuple[float, ...]:
    words = _WORD.findall(sentence)
    size = max(1, len(words))
    about, address, plain = (sum(word in kind for word in words) / size for kind in (APPEAL, ADDRESS, PLAIN))
    asks = tuple(bool(kind & set(words)) for kind in (_YOU, _ME, _THIS))
    return (
        about, address, plain, max(0.0, 1 - about - plain), log1p(size) / 3, "?" in sentence,
        any(map(str.isdigit, sentence)), bool(words) and words[0] in ADDRESS, *asks,
    )  # fmt: skip
