"""Does what stands behind a text, or before it, belong to it? By how both are built, whatever their words are.

A little network over what `seams.py` tells of a seam; taught/apart.py makes `apart.safetensors`. It says how a reading is
shortened that may be lower (`readings.py`), so who is taken for an addition is left out of that reading and stays in the other.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from classifiers.heads.inputs import Floats
from classifiers.reading.options import OPTION
from classifiers.reading.seams import Seams, seams

WEIGHTS = Path(__file__).parent / "apart.safetensors"
BEHIND, BEFORE = 0.6, 0.85
"""So sure it must be: what a story tells before its question is more easily taken for an addition."""

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
        added = np.nonzero(self.behind.chances(found.behind) > BEHIND)[0]
        if not len(added):
            return self._from(text, found)
        left = text[: found.at[added[0]]].rstrip()
        return self._from(left, seams(left))

    def _from(self, text: str, found: Seams | None) -> str:
        if found is None:
            return text
        added = np.nonzero(self.before.chances(found.before) > BEFORE)[0]
        return text[found.at[added[-1]] :] if len(added) else text


@cache
def open_apart(path: Path = WEIGHTS) -> Apart:
    """Reads the weights: the shipped ones unless named."""
    from safetensors.numpy import load

    found = {name: part.astype(np.float64) for name, part in load(path.read_bytes()).items()}
    behind, before = (Side(found[f"{side}.hidden"], found[f"{side}.out"]) for side in ("behind", "before"))
    return Apart(behind, before)
