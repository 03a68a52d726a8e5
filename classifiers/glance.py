"""The quick stage over a conversation: what its turns come to without the encoder, and at both ends of what is left open."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from classifiers.artefact import Artefact
from classifiers.features import lexical_of
from classifiers.heads.inputs import Floats, Inputs
from classifiers.memory import Memory
from classifiers.readings import lower, readings
from classifiers.static import StaticEmbedder
from classifiers.text import cut_of, digest
from classifiers.turns import Chances, prefixes


class Glimpse(NamedTuple):
    """Chances of one turn, by head: likely, with all gains small, with all gains large."""

    likely: Chances
    low: Chances
    high: Chances


class Glance(NamedTuple):
    """The same for each prefix of a conversation, oldest first."""

    likely: list[Chances]
    low: list[Chances]
    high: list[Chances]


class Glances:
    """Looks at each turn once and remembers it. Some tenths of a millisecond for a turn; no I/O, no other thread."""

    def __init__(self, artefact: Artefact, static: StaticEmbedder, most: int) -> None:
        """`artefact` has stages."""
        assert artefact.stages is not None
        self._quick, self._scale, self._static = artefact.stages.quick, artefact.blend.scale, static
        self._models = artefact.manifest.heads
        self._seen: Memory[Glimpse] = Memory(most)

    def glance(self, turns: Sequence[str]) -> Glance:
        found = [self._glimpse(turn) for turn in turns]
        return Glance(*(prefixes([glimpse[end] for glimpse in found]) for end in range(3)))

    def _glimpse(self, turn: str) -> Glimpse:
        key = digest(turn)
        found = self._seen.get(key)
        if found is None:
            found = self._look(turn)
            self._seen.put(key, found)
        return found

    def _look(self, turn: str) -> Glimpse:
        read = [self._ends(asked) for asked in readings(turn)]
        if len(read) == 1:
            return Glimpse(*map(tuple, read[0].tolist()))
        # Where the full gain of each reading lies between its ends, the lower of them lies between the lower ends.
        ends = np.stack(read, axis=1)
        return Glimpse(*(tuple(rows[lower(rows, self._models)].tolist()) for rows in ends))

    def _ends(self, asked: str) -> Floats:
        """Chances of one reading, [3, models]: likely, low, high."""
        inputs = Inputs(self._static.vector(cut_of(asked))[None, :], lexical_of(asked)[None, :])
        return self._scale.apply(np.vstack(self._quick.ends(inputs)))
