"""What a turn asks amid what is no English: code, marks, markup, labels, letters and figures, another language.

"```rust …``` What is the capital of France?" asks for the capital. Who adds code is not to have the large model for it, nor for
its being unlike anything that was trained on. Where the question means the code ("Why does this fail?"), it is read whole.
"""

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import chain, groupby, islice
from typing import NamedTuple

from classifiers.reading.light import is_apart
from classifiers.reading.openers import LIGHT, ORDERS, QUESTION, SKIPPED
from classifiers.reading.options import OPTION
from classifiers.reading.words import PLAIN

_MOST_CHARS, _MOST_PARTS = 8_192, 256  # of more the question is a small part, and looking takes time
_FENCED = re.compile(r"```.*?(?:```|\Z)|\$\$.*?\$\$", re.DOTALL)
_MARKUP = re.compile(
    r"</?[^<>\n]{1,40}>|\\(?:begin|end)\{\w{0,20}\*?\}|[{\[]\s*\"|(?<=[\"'])\s*[:,]\s*(?=[\"'\d{\[])|\"\s*[}\]]"
    r"|(?<!\S)\|(?=\s)|[⟨⟩]"
)
_GONE = "\x00"
_BOUND = re.compile(
    r"\n+|(?<![A-Z][a-z]\.)(?<!Mrs\.)(?<=[.!?…])(?:\s+|[*'\")\]}>]+\s+(?![a-z]))|(?<=\w):\s+|(?<!\s)\s*\x00+\s*"
)
"""Of a sentence; not the stop of "Mr. Smith", nor one within a quotation that a sentence goes on behind."""

_PIECE = re.compile(r"\S+")
_CLEAN = re.compile(
    r"[*_(\"“'‘]*+(?:[^\W\d_]++(?:['’/-][^\W\d_]++)*+|[$€£]?\.?\d++(?:[.,:/+*-]\w++)*+%?)[.,;:!?…)\"”'’*_/-]*+|[-–—&+#*/>~]{1,3}"
)
_SIGN = re.compile(r"[^\w\s.,;:!?'’\"“”()$%/&+*-]|_|[^\W\d]\d|\d[^\W\d]|\w[.(]\w|\S{25}")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+")
_MARKS = " \t\n*_#>|-=:,;/<({[)}]~•"
_FEWEST_WORDS, _LABEL_WORDS = 3, 4
_GLUE, _GLUE_AMID_MARKS, _FOREIGN = 0.2, 0.3, 0.125
_ODD = 1 / 3  # of what stands behind a question: less of it, and that may be what it asks about
_SAYS = ORDERS | QUESTION | LIGHT


class _Kind(IntEnum):
    """Of a part: no English at all; a label, or words of another language; a few words with glue; what tells; what asks."""

    ODD, OTHER, PHRASE, TELLS, ASKS = range(5)


class _Part(NamedTuple):
    start: int
    end: int
    kind: _Kind
    pieces: int


class _Piece(NamedTuple):
    start: int
    end: int
    clean: bool


def amid(text: str) -> str:
    """`text` without what is no English around its question; itself where there is none, or where the question means it.

    >>> amid("x1 = np.zeros(4)\\n\\nWhat is the capital of France?")
    'What is the capital of France?'
    >>> amid("x1 = np.zeros(4)\\n\\nWhy does this fail?")
    'x1 = np.zeros(4)\\n\\nWhy does this fail?'
    """
    if len(text) > _MOST_CHARS or not _may_have_junk(text) or len(OPTION.findall(text)) > 1:
        return text
    parts = list(islice(_parts(text), _MOST_PARTS + 1))
    english = _english(parts) if len(parts) <= _MOST_PARTS else ()
    if not english or len(english) == len(parts) or not _is_junk(parts, english):
        return text
    start, end = english[0].start, english[-1].end
    found, rest = text[start:end], f"{text[:start]} {text[end:]}"
    return found.strip(_MARKS) if is_apart(found, rest, first=True) else text


def _may_have_junk(text: str) -> bool:
    """Whether any piece may be odd, or the first sentence no English. Some 5 us."""
    return bool(_SIGN.search(text)) or PLAIN.isdisjoint(_WORD.findall(_BOUND.split(text, 1)[0].lower()))


def _english(parts: Sequence[_Part]) -> Sequence[_Part]:
    """The sentences on end that are English, where there is one such run; else the one phrase."""
    most = max((part.kind for part in parts), default=_Kind.ODD)
    least = min(most, _Kind.TELLS)
    runs = [tuple(run) for told, run in groupby(parts, key=lambda part: part.kind >= least) if told]
    return runs[0] if len(runs) == 1 and least >= _Kind.PHRASE else ()


def _is_junk(parts: Sequence[_Part], english: Sequence[_Part]) -> bool:
    """Whether what is left out is more than a name or a list that the question is about."""
    behind = [part for part in parts if part.start >= english[-1].end]
    odd, left_out = (sum(part.pieces for part in parts if part.kind < kind) for kind in (_Kind.OTHER, english[0].kind))
    odd_behind = sum(part.pieces for part in behind if part.kind == _Kind.ODD)
    return (odd > 0 or left_out >= _FEWEST_WORDS) and odd_behind >= _ODD * sum(part.pieces for part in behind)


def _parts(text: str) -> Iterator[_Part]:
    """Sentences, the odd pieces at their ends, and what parts them if that is markup."""
    masked = _MARKUP.sub(_gone, _FENCED.sub(_gone, text))
    start, before = 0, _Kind.ODD
    for end, after in chain((bound.span() for bound in _BOUND.finditer(masked)), ((len(text), len(text)),)):
        for part in _sentence(masked, start, end):
            lists = before >= _Kind.TELLS and part.kind == _Kind.OTHER  # "… by length: plum, kiwi"
            yield part._replace(kind=before) if lists else part
            before = part.kind
        bound = masked[end:after]
        before = before if ":" in bound and "\n" not in bound else _Kind.ODD
        if _GONE in bound:
            yield _Part(end, after, _Kind.ODD, 1)
        start = after


def _gone(found: re.Match[str]) -> str:
    return _GONE * len(found[0])


def _sentence(text: str, start: int, end: int) -> Iterator[_Part]:
    """What is odd at its ends, and what stands between."""
    found = islice(_PIECE.finditer(text, start, end), _MOST_PARTS)
    pieces = [_Piece(one.start(), one.end(), bool(_CLEAN.fullmatch(one.group()))) for one in found]
    clean = [at for at, piece in enumerate(pieces) if piece.clean]
    first, last = (_asking_tail(text, pieces, clean), clean[-1] + 1) if clean else (len(pieces), len(pieces))
    for some in (pieces[:first], pieces[first:last], pieces[last:]):
        if some:
            yield _part(text, some)


def _asking_tail(text: str, pieces: Sequence[_Piece], clean: Sequence[int]) -> int:
    """Where the first clean piece stands, or a question begins behind odd ones that no English stands before."""
    odd = [at for at in range(clean[0], clean[-1]) if not pieces[at].clean]
    if not odd:
        return clean[0]
    at = odd[-1] + 1
    head = _WORD.findall(text[pieces[0].start : pieces[at].start].lower())
    opens = text[pieces[at].start : pieces[at].end].lower()
    return at if opens in LIGHT | {"why", "how", "can"} and PLAIN.isdisjoint(head) else clean[0]


def _part(text: str, pieces: Sequence[_Piece]) -> _Part:
    start, end, many = pieces[0].start, pieces[-1].end, len(pieces)
    odd = sum(not piece.clean for piece in pieces)
    words = ["" if len(word) > 1 and word.isupper() else word for word in _WORD.findall(text[start:end])]
    kind = _kind(text[start:end], words, many) if not odd else _Kind.ODD if odd == many else _amid_marks(words, many)
    return _Part(start, end, kind, many)


def _amid_marks(words: Sequence[str], many: int) -> _Kind:
    glue = sum(len(word) > 1 and word.lower() in PLAIN for word in words)
    return _Kind.TELLS if glue >= _GLUE_AMID_MARKS * many or _opens(words) in _SAYS else _Kind.ODD


def _kind(text: str, words: Sequence[str], many: int) -> _Kind:
    glue = [at for at, word in enumerate(words) if word in ("I", "a") or (len(word) > 1 and word.lower() in PLAIN)]
    if many < _FEWEST_WORDS:
        return _Kind.OTHER
    if "?" in text or (glue and _opens(words) in _SAYS):
        return _Kind.ASKS
    if len(glue) >= max(2, _GLUE * many):
        return _Kind.TELLS
    is_label = text[-1] not in ".!?"
    if is_label and any(0 < at < len(words) - 1 for at in glue):
        return _Kind.PHRASE
    tells = len(glue) > _FOREIGN * many and not (is_label and many <= _LABEL_WORDS)
    return _Kind.TELLS if tells or any(word[:1].isdigit() for word in words) else _Kind.OTHER


def _opens(words: Sequence[str]) -> str:
    return next((word.lower() for word in words if word.lower() not in SKIPPED), "")
