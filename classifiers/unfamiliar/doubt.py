"""Is a turn so unlike those of training that its estimate isn't to be trusted? By what it means, and by how it is written."""

from collections.abc import Sequence
from math import exp

import numpy as np

from classifiers.artefact import Artefact
from classifiers.embedding.encoder import Vectors
from classifiers.question import Question
from classifiers.reading.lexicon import GROUPS
from classifiers.reading.openers import ORDERS, QUESTION, SKIPPED
from classifiers.reading.tokens import Tokens
from classifiers.reading.whole import stands_alone
from classifiers.stages import MISS, nearest
from classifiers.unfamiliar import oddness
from classifiers.unfamiliar.languages import is_of, language
from classifiers.unfamiliar.oddness import Odd, Oddness
from classifiers.unfamiliar.outside import outside
from classifiers.unfamiliar.spelling import look

_OPENING_TOKENS = 2
_OPENING_CHARS = 4_096  # in which so many stand, or what is none
_STRANGE_LETTERS = 2.0  # nats: fewer than one training text in seven has letters that are as odd
_ASKS = QUESTION | ORDERS | GROUPS["greeting"] | {"good", "yep", "yeah"}


def doubt(opened: Artefact, asked: str, vector: Vectors) -> str:
    """Why the estimate of a turn that asks this, and has this vector, isn't to be trusted; or ""."""
    if opened.stages is None:
        return ""
    if (why := oddly_written(opened.stages.odd, asked)) is not None:
        return why
    alike = float(nearest(opened.blend.members).likeness(vector[None, :])[0])
    least = f"likeness {alike:.2f}, {opened.stages.least:.2f} is the least"
    return "" if alike >= opened.stages.least else f"unlike anything it was trained on ({least})"


def judged(opened: Artefact, read: Sequence[str], vectors: Sequence[Vectors], at: int) -> tuple[int, str]:
    """Which of these readings is judged, `at` or the second, and why it isn't to be trusted or "": what can't be judged must
    not hide a question that can."""
    if not (why := doubt(opened, read[at], vectors[at])) or len(read) < 2 or not stands_alone(read[1]):
        return at, why
    return 1, doubt(opened, read[1], vectors[1])


def oddly_written(written: Oddness | None, asked: str) -> str | None:
    """Why what is written so can't be judged by this artefact."""
    if written is None:
        return None
    if (odd := oddly_spelled(written, asked)) is not None:
        return f"written like nothing it was trained on ({odd.aspect}, {exp(-odd.much):.1g} of its texts)"
    name = another_language(written, asked)
    return f"in {name}, and it was trained on little that is spelled so" if name else None


def another_language(written: Oddness, asked: str) -> str:
    """In which it is, by its small words; "" where training texts have such letters too, and where an English word opens it
    that asks for something of what is in another language."""
    name = language(asked)
    if not name or written.letters(look(asked)) < _STRANGE_LETTERS:
        return ""
    opens = _opening(asked).lower().split()
    return name if not opens or is_of(name, opens[0]) else ""


def oddly_spelled(written: Oddness, asked: str) -> Odd | None:
    """In which way it is odd. Not where it opens with a question, an order or a greeting in usual letters: then junk behind it,
    a log or another language, is what it asks about, or should buy nothing."""
    if not written.may_be_odd(seen := look(asked)) or (odd := written.of(seen)).much <= written.most:
        return None
    return None if (opening := _opening(asked)) and written.of(look(opening)).much <= written.most else odd


def _opening(asked: str) -> str:
    """Its first words up to the first strange one, where they ask for something; or ""."""
    tokens = Tokens(asked[:_OPENING_CHARS])
    end = next((at for at in range(min(len(tokens), _OPENING_TOKENS)) if tokens[at].kind == "strange"), len(tokens))
    end = min(end, _OPENING_TOKENS)
    words = (tokens[at].word for at in range(end))
    asks = next((word for word in words if word and word not in SKIPPED), "") in _ASKS
    return tokens.text(0, end) if asks else ""


def coverage(texts: Sequence[str], doubts: Sequence[str]) -> float:
    """The share of these turns for which there would be an estimate, by why each isn't to be trusted, as `judged` has it."""
    return float(np.mean([not (why or outside(Question((text,)))) for text, why in zip(texts, doubts, strict=True)]))


def promised(opened: Artefact) -> float:
    """At least this share of turns drawn like those of training is promised one."""
    if opened.stages is None:
        return 1.0
    return 1 - MISS - (oddness.MISS if opened.stages.odd is not None else 0.0)
