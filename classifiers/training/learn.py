"""From rows to a calibrated blend; the same steps, with the same constants, for what is shipped and what is measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classifiers.heads.blend import Blend, crossed, fit_members, fit_scale, mean_contrasts
from classifiers.heads.inputs import Floats, Inputs, Targets
from classifiers.stages import Beside, Stages, Trial, fit_stages, try_out

FEWEST = 30
"""Outcomes of fewer prompts than this say nothing."""

_PARTS = 6
_ONE_PART_FROM_ROWS = 3000
_TRIED_ROWS = 300
"""So many are enough for the stages' bounds; each round of them takes as long as a round of the heads."""

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Learned:
    """`blend` knows all rows; `p_good` [kept, models] is what it said of the rows `kept` when its heads didn't know them, and
    `p_unseen` when its scale didn't either. `stages` come where it is told what they read."""

    blend: Blend
    kept: Rows
    p_good: Floats
    p_unseen: Floats
    stages: Stages | None = None

    @property
    def round_of(self) -> Rows:
        """In which round each of `kept` was kept back. What is high for the heads of one round may be low for those of another:
        rows that a round keeps back are missing from the mean of its heads, so better ones get lower numbers."""
        return self.kept % _PARTS


class _Round(NamedTuple):
    kept: Rows
    said: Floats
    trial: Trial | None


def learn(inputs: Inputs, targets: Targets, beside: Beside | None = None) -> Learned:
    """Trains without a sixth, learns its scale on that sixth, then trains again on everything.

    With fewer than 3000 rows each sixth has its turn, so that every row is one to calibrate on. The scale stays
    as it is: a head that saw a fifth more rows is hardly less sure of itself, and no row is wasted; nor do the bounds of the
    stages move. The order of rows decides who is kept back, so callers hand them over in an order without meaning.
    """
    import sklearn.ensemble  # noqa: F401  the limit below holds for libraries that are loaded when it is set
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # One thread: a fit takes seconds, and where other work shares the cores, threads that spin for one another take minutes.
    with threadpool_limits(1):
        rounds = [
            _round(inputs, targets, beside if at * len(kept) < _TRIED_ROWS else None, fit, kept)
            for at, (fit, kept) in enumerate(_rounds(len(inputs)))
        ]
        kept, said = (np.concatenate(parts) for parts in zip(*[(one.kept, one.said) for one in rounds], strict=True))
        scale = fit_scale(said, targets.take(kept))
        blend = Blend(fit_members(inputs, targets), scale)
        trials = [one.trial for one in rounds if one.trial is not None]
        stages = None if beside is None else fit_stages(blend.members, targets.weight, inputs, beside, trials)
        return Learned(blend, kept, scale.apply(said), crossed(said, targets.take(kept)), stages)


def _round(inputs: Inputs, targets: Targets, beside: Beside | None, fit: Rows, kept: Rows) -> _Round:
    members = fit_members(inputs.take(fit), targets.take(fit))
    said = mean_contrasts(members, inputs.take(kept))
    if beside is None:
        return _Round(kept, said, None)
    seen, unseen = ((inputs.take(rows), beside.take(rows)) for rows in (fit, kept))
    return _Round(kept, said, try_out(members, targets.weight[fit], seen=seen, kept=unseen, said=said))


def _rounds(size: int) -> Iterator[tuple[Rows, Rows]]:
    rows = np.arange(size)
    for part in range(_PARTS if size < _ONE_PART_FROM_ROWS else 1):
        yield rows[rows % _PARTS != part], rows[rows % _PARTS == part]
