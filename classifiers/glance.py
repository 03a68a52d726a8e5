"""The quick stage over a conversation: what its turns come to without the encoder, and at both ends of what is left open."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from classifiers.artefact import Artefact
from classifiers.embedding.memory import Memory
from classifiers.embedding.static import StaticEmbedder
from classifiers.features.lexical import lexical_of
from classifiers.features.text import cut_of
from classifiers.heads.inputs import Floats, Inputs
from classifiers.reading.readings import lower, readings
from classifiers.turns import Chances, prefixes
from classifiers.unfamiliar.doubt import oddly_written
from classifiers.unfamiliar.oddness import Oddness
from classifiers.unfamiliar.spoken import spoken_in
from policies.estimates import Ends, Estimate, Span, Stage

REMEMBERED_CONVERSATIONS = 2_048
"""As they stood when they were looked at: 3 MB when full of short ones."""


class Glimpse(NamedTuple):
    """Chances of one turn, by head: likely, with all gains small, with all gains large; and the language that it tells."""

    likely: Chances
    low: Chances
    high: Chances
    language: str


Rows = tuple[Mapping[str, float], ...]
"""Chances of each prefix of a conversation, oldest first, by head."""


class Glance(msgspec.Struct):
    """A conversation by its turns: what is likely for each prefix of it, and the estimate at both ends. `heard` is what came of
    it when the encoder was last asked: of which prefixes, the chances with its own, and whether it spoke of the newest.
    `language` is that of the newest turn that tells one."""

    likely: Rows
    span: Span
    ends: Ends
    language: str
    heard: tuple[tuple[int, ...], Rows, Stage] = ((), (), "")


class Glances:
    """Looks at each turn once and remembers it. Some tenths of a millisecond for a turn; no I/O, no other thread."""

    def __init__(self, artefact: Artefact, static: StaticEmbedder, most: int) -> None:
        """`artefact` has stages."""
        assert artefact.stages is not None
        self._quick, self._scale, self._static = artefact.stages.quick, artefact.blend.scale, static
        self._models, self._name = artefact.manifest.heads, artefact.calibration.artefact
        self._odd: Oddness | None = artefact.stages.odd
        self._seen: Memory[Glimpse] = Memory(most)
        self._whole: Memory[Glance] = Memory(REMEMBERED_CONVERSATIONS)

    def glance(self, keys: Sequence[bytes], turns: Sequence[str]) -> Glance:
        """Of turns that are remembered by these keys."""
        whole = keys[0] if len(keys) == 1 else b"".join(keys)
        found = self._whole.get(whole)
        if found is None:
            found = self._together([self._glimpse(key, turn) for key, turn in zip(keys, turns, strict=True)])
            self._whole.put(whole, found)
        return found

    def _together(self, seen: Sequence[Glimpse]) -> Glance:
        likely, low, high = (
            tuple([dict(zip(self._models, row, strict=True)) for row in prefixes(chances)])
            for chances in zip(*[glimpse[:-1] for glimpse in seen], strict=True)
        )
        span = Span(self._quickly(low), self._quickly(high))
        language = next((glimpse.language for glimpse in reversed(seen) if glimpse.language), "")
        return Glance(likely, span, (span.low.p_good, span.high.p_good), language)

    def _quickly(self, rows: Sequence[Mapping[str, float]]) -> Estimate:
        return Estimate(p_good=rows[-1], earlier=tuple(rows[:-1]), artefact=self._name, stage="quick")

    def _glimpse(self, key: bytes, turn: str) -> Glimpse:
        found = self._seen.get(key)
        if found is None:
            found = self._look(turn)
            self._seen.put(key, found)
        return found

    def _look(self, turn: str) -> Glimpse:
        read, language = [self._ends(asked) for asked in readings(turn)], spoken_in(turn)
        if len(read) == 1:
            likely, low, high = map(tuple, read[0].tolist())
            return Glimpse(likely, low, high, language)
        # Where the full gain of each reading lies between its ends, the lower of them lies between the lower ends.
        ends = np.stack(read, axis=1)
        likely, low, high = (tuple(rows[lower(rows, self._models)].tolist()) for rows in ends)
        return Glimpse(likely, low, high, language)

    def _ends(self, asked: str) -> Floats:
        """Chances of one reading, [3, models]: likely, low, high."""
        inputs = Inputs(self._static.vector(cut_of(asked))[None, :], lexical_of(asked)[None, :])
        odd = oddly_written(self._odd, asked) is not None
        return self._scale.apply(np.vstack(self._quick.ends(inputs, odd=odd)))
