"""What a log doesn't tell: how well those models would have answered that were not asked, and chances of unseen rows."""

import numpy as np

from classifiers.heads import kernel
from classifiers.heads.blend import fit_scale
from classifiers.heads.inputs import Floats, Inputs, Targets


def filled(inputs: Inputs, told: Floats, before: Floats, weight: Floats) -> Floats:
    """`told` [n, models], with guesses where it is NaN: `before` and what alike questions came out above or below that."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    quality = told.copy()
    with threadpool_limits(1):  # as in learn()
        for at in range(told.shape[1]):
            seen, unseen = np.nonzero(~np.isnan(told[:, at]))[0], np.nonzero(np.isnan(told[:, at]))[0]
            missed = Targets((told[seen, at] - before[seen, at])[:, None], weight[seen])
            more = kernel.fit(inputs.take(seen), missed).contrasts(inputs.take(unseen))[:, 0]
            quality[unseen, at] = np.clip(before[unseen, at] + more, 0.0, 1.0)
    return quality


def crossed(said: Floats, targets: Targets, folds: int = 5) -> Floats:
    """Chances of each fifth of the rows on a scale that the other four gave."""
    part, p_good = np.arange(len(said)) % folds, np.zeros_like(said)
    for at in range(folds):
        seen, kept = np.nonzero(part != at)[0], np.nonzero(part == at)[0]
        p_good[kept] = fit_scale(said[seen], targets.take(seen)).apply(said[kept])
    return p_good
