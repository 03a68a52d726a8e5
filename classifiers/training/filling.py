"""What a log doesn't tell: how well those models would have answered that were not asked, and chances of unseen rows."""

import numpy as np
from numpy.typing import NDArray

from classifiers.heads import kernel
from classifiers.heads.inputs import Floats, Inputs, Targets


def filled(inputs: Inputs, told: Floats, before: Floats, weights: Floats, stands: NDArray[np.bool_]) -> Floats:
    """`told` [n, models], with guesses where it is NaN: `before` and what alike questions came out above or below that. Where
    `before` `stands` an answer came, and nobody can say that it is better or worse."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    quality, missed = told.copy(), np.where(stands, 0.0, told - before)
    with threadpool_limits(1):  # as in learn()
        for at in range(told.shape[1]):
            seen, unseen = np.nonzero(~np.isnan(missed[:, at]))[0], np.nonzero(np.isnan(told[:, at]))[0]
            if not len(unseen):
                continue
            off = Targets(missed[seen, at, None], weights[seen, at])
            more = kernel.fit(inputs.take(seen), off).contrasts(inputs.take(unseen))[:, 0]
            quality[unseen, at] = np.clip(before[unseen, at] + more, 0.0, 1.0)
    return quality
