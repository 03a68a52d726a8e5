"""Does what stands behind a text, or before it, belong to it? By how both are built, whatever their words are.

A little network over what `seams.py` tells of a seam; taught/apart.py makes `apart.safetensors`. It says how a reading is
shortened that may be lower (`readings.py`), so who is taken for an addition is left out of that reading and stays in the other.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from classifiers.heads.inputs import Floats
from classifiers.reading.light import begins, is_apart
from classifiers.reading.options import OPTION
from classifiers.reading.seams import CAPITAL, Seams, seams

WEIGHTS = Path(__file__).parent / "apart.safetensors"
BEHIND, BEFORE = 0.6, 0.85
"""So sure it must be: what a story tells before its question is more easily taken for an addition."""

LIGHT_BEHIND, LIGHT_BEFORE = 0.02, 0.1
"""So sure where what remains is a light question that is whole and has nothing to do with the rest (`light.py`)."""

_QUOTES, _OPENS, _CLOSES = "\"“'", "([{", ")]}"
_MOST_CHARS = 600  # in more than this an addition weighs little, and looking takes time


@dataclass(frozen=True, slots=True)
class Side:
    """`hidden` [features + 1, units], the last row added; `out` [units + 1] likewise."""

    hidden: Floats
    out: Floats

    def chances(self, rows: Floats) -> Floats:
        """P(an addition) of what stands on this side of each seam."""
        # Without BLAS, whose threads wait for one another on a busy machine.
        units = np.tanh(np.einsum("sf,fu->su", rows, self.hidden[:-1]) + self.hidden[-1])
        return np.asarray(1 / (1 + np.exp(-(np.einsum("su,u->s", units, self.out[:-1]) + self.out[-1]))), np.float64)


@dataclass(frozen=True, slots=True)
class Apart:
    """Of what stands behind a seam, and of what stands before it."""

    behind: Side
    before: Side

    def without(self, text: str) -> str:
        """`text` without what was put behind it or before it; itself where nothing was, or where it offers options."""
        if len(text) > _MOST_CHARS or len(OPTION.findall(text)) > 1:
            return text
        found = seams(text)
        if found is None:
            return text
        left = self._until(text, found)
        return self._from(left, found if left == text else seams(left))

    def _until(self, text: str, found: Seams) -> str:
        for at, chance, kind in zip(found.at, self.behind.chances(found.behind).tolist(), found.kinds(), strict=True):
            kept, rest = text[:at].rstrip(), text[at:]
            may_begin = begins(rest) if kind == CAPITAL else rest[0] not in _OPENS or rest.rstrip()[-1] in _CLOSES
            if chance > BEHIND or (chance > LIGHT_BEHIND and may_begin and is_apart(kept, rest, first=True)):
                return kept
        return text

    def _from(self, text: str, found: Seams | None) -> str:
        if found is None:
            return text
        chances = self.before.chances(found.before).tolist()
        for at, chance, kind in zip(found.at[::-1], chances[::-1], found.kinds()[::-1], strict=True):
            kept, rest = text[at:], text[:at]
            may_begin = (kind != CAPITAL or begins(kept, orders=False)) and (kept[0].isalnum() or kept[0] in _QUOTES)
            if chance > BEFORE or (chance > LIGHT_BEFORE and may_begin and is_apart(kept, rest, first=False)):
                return kept
        return text


@cache
def open_apart(path: Path = WEIGHTS) -> Apart:
    """Reads the weights: the shipped ones unless named."""
    from safetensors.numpy import load

    found = {name: part.astype(np.float64) for name, part in load(path.read_bytes()).items()}
    behind, before = (Side(found[f"{side}.hidden"], found[f"{side}.out"]) for side in ("behind", "before"))
    return Apart(behind, before)
