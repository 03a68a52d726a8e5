"""What is learned beside the blend: the quick stage that speaks before the encoder is asked, and what counts as familiar.

All have bounds that a fresh prompt keeps with a stated probability, from turns that no stage had seen (conformal.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classifiers.conformal import lower_bound, upper_bound
from classifiers.embedding.static import open_static
from classifiers.features.text import cut
from classifiers.heads import quick
from classifiers.heads.blend import Blend, Head, mean_contrasts
from classifiers.heads.inputs import Floats, Inputs
from classifiers.heads.kernel import Kernel
from classifiers.heads.quick import Quick
from classifiers.reading.appeals import without_appeals
from classifiers.unfamiliar import oddness
from classifiers.unfamiliar.oddness import Oddness
from classifiers.unfamiliar.spelling import Spelled, spell

LEVEL = 0.8
"""The blend's gain lies within the quick stage's interval with at least this probability."""

MISS = 0.005
"""Of prompts drawn like those of training, at most this part is taken for unfamiliar."""


_LEAST_HALF = 1e-4  # chances in a log have four digits


@dataclass(frozen=True, slots=True)
class Stages:
    """`quick` reads static vectors. `least`: the likeness of the encoder's vector below which the blend isn't to be trusted.
    `odd` tells how a text is written; None where it was trained on no texts."""

    quick: Quick
    least: float
    odd: Oddness | None = None


class Trial(NamedTuple):
    """Turns that were kept from both stages: how far off the quick one was, [n, models - 1], and how like the nearest turn
    of training they were, to the encoder and to the static embedder, [n] each; how oddly they were written, [n] or [0]."""

    apart: Floats
    alike: Floats
    alike_static: Floats
    odd: Floats


class Beside(NamedTuple):
    """The same turns as the stages read them: static vectors, and letters where texts are at hand."""

    static: Inputs
    spelled: Spelled | None = None

    def take(self, rows: NDArray[np.intp]) -> "Beside":
        """The turns at these positions, in this order."""
        return Beside(self.static.take(rows), self.spelled and self.spelled.take(rows))


def beside(texts: Sequence[str], inputs: Inputs) -> Beside:
    """What the stages read of these turns."""
    return Beside(static_inputs(texts, inputs), spell([without_appeals(text) for text in texts]))


def static_inputs(texts: Sequence[str], inputs: Inputs) -> Inputs:
    """The same turns as the quick stage reads them."""
    return Inputs(open_static().vectors([cut(text) for text in texts]), inputs.lexical)


def try_out(
    members: Mapping[str, Head],
    weight: Floats,
    *,
    seen: tuple[Inputs, Beside],
    kept: tuple[Inputs, Beside],
    said: Floats,
) -> Trial:
    """`members` were trained on `seen`, of this `weight`, and said `said` of `kept`; each is a pair: what the encoder's heads
    read, what the stages do."""
    head = quick.fit_head(seen[1].static, mean_contrasts(members, seen[0]), weight)
    apart = np.abs(head.contrasts(kept[1].static) - said)[:, 1:]
    odd = _odd(seen[1], kept[1], weight)
    return Trial(apart, nearest(members).likeness(kept[0].vectors), head.likeness(kept[1].static.vectors), odd)


def fit_stages(
    members: Mapping[str, Head], weight: Floats, inputs: Inputs, beside: Beside, trials: Sequence[Trial]
) -> Stages:
    """The stages beside these members, which were trained on all of `inputs`; their bounds are those of the trials."""
    apart, alike, alike_static, odd = (np.concatenate(parts) for parts in zip(*trials, strict=True))
    head = quick.fit_head(beside.static, mean_contrasts(members, inputs), weight)
    written = None if beside.spelled is None else oddness.fit(beside.spelled, weight).bounded(odd)
    return Stages(Quick(head, _off(apart), lower_bound(alike_static, MISS)), lower_bound(alike, MISS), written)


def fit_locally(stages: Stages, blend: Blend, inputs: Inputs, beside: Beside) -> Stages:
    """The same stages with bounds that hold for turns drawn like these, of which none was trained on."""
    apart = np.abs(stages.quick.head.contrasts(beside.static) - mean_contrasts(blend.members, inputs))[:, 1:]
    least = min(stages.least, lower_bound(nearest(blend.members).likeness(inputs.vectors), MISS))
    odd = stages.odd
    if odd is not None and beside.spelled is not None:
        odd = odd.widened(odd.all(beside.spelled))
    return Stages(replace(stages.quick, off=_off(apart)), least, odd)


def fit_to_log(stages: Stages, blend: Blend, vectors: NDArray[np.float32], ends: Floats, gain: Floats) -> Stages:
    """The same where no text is kept: `ends` [n, 2] are the gains between which the quick stage put `gain` [n], the full one.

    Its interval becomes wider or narrower by one factor; between the bounds of chances a gain's scale is a line.
    """
    half = np.maximum(np.diff(ends, axis=1)[:, 0] / 2, _LEAST_HALF)
    factor = upper_bound(np.abs(gain - ends.mean(axis=1)) / half, LEVEL)
    least = min(stages.least, lower_bound(nearest(blend.members).likeness(vectors), MISS))
    return Stages(replace(stages.quick, off=stages.quick.off * factor), least, stages.odd)


def nearest(members: Mapping[str, Head]) -> Kernel:
    """The member that knows what it has seen."""
    head = members["kernel"]
    assert isinstance(head, Kernel)
    return head


def _odd(seen: Beside, kept: Beside, weight: Floats) -> Floats:
    if seen.spelled is None or kept.spelled is None:
        return np.zeros(0)
    return oddness.fit(seen.spelled, weight).all(kept.spelled)


def _off(apart: Floats) -> Floats:
    return np.array([upper_bound(column, LEVEL) for column in apart.T])
