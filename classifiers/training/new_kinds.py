"""How would a head do on kinds of prompts that it has not learned from? Clusters of embeddings stand for kinds.

What is told in distribution mostly says which kind a prompt is of; on a new kind that is of no use, and prompt length may be
the better router. It is measured with few rows and the kernel alone, which is what the trees cannot better there.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classifiers.heads import kernel
from classifiers.heads.contrasts import from_contrasts
from classifiers.heads.inputs import Floats, Inputs, Targets
from classifiers.measuring import metrics

FROM_ROWS = 300
_MOST_ROWS = 2500
_KINDS = 8


class NewKinds(NamedTuple):
    """APGR over all kinds, each left out in turn and ranked by itself."""

    ours: float
    length: float


def on_new_kinds(inputs: Inputs, targets: Targets, length: Floats, pair: tuple[int, int]) -> NewKinds | None:
    """`length` [n] of the prompts, `pair` the positions of the small and the large model. None with fewer than 300 rows, or
    where the large model is no better. Rows come in an order without meaning."""
    rows = np.arange(min(len(inputs), _MOST_ROWS))
    quality = targets.quality[rows][:, list(pair)]
    if len(rows) < FROM_ROWS or not metrics.has_gap(quality[:, 0], quality[:, 1]):
        return None
    ours = np.zeros(len(rows))
    kinds = _kinds(inputs.vectors[rows])
    for kind in range(_KINDS):
        new, known = np.nonzero(kinds == kind)[0], np.nonzero(kinds != kind)[0]
        if len(new):
            ours[new] = _gains(inputs, targets, new, known, pair)
    ranked = (metrics.ranks_within(order, kinds) for order in (ours, length[rows]))
    return NewKinds(*(metrics.apgr(order, quality[:, 0], quality[:, 1]) for order in ranked))


def _kinds(vectors: NDArray[np.float32]) -> NDArray[np.intp]:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):  # as in learn()
        return np.asarray(KMeans(_KINDS, n_init=1, random_state=0).fit_predict(vectors), np.intp)


def _gains(
    inputs: Inputs, targets: Targets, new: NDArray[np.intp], known: NDArray[np.intp], pair: tuple[int, int]
) -> Floats:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        said = from_contrasts(kernel.fit(inputs.take(known), targets.take(known)).contrasts(inputs.take(new)))
    return np.asarray(said[:, pair[1]] - said[:, pair[0]], np.float64)
