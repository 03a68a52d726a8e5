"""Gradient-boosted trees on the lexical features and the main directions of the embedding; scored in plain numpy.

The trees learn the mean quality of the models and the gain of each over the one before it, not the qualities: what routing
needs is the gain, and a tree that splits on what every model finds hard learns little about it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classifiers.heads.contrasts import to_contrasts
from classifiers.heads.inputs import Floats, Inputs, Targets

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

_DIRECTIONS = 32
_DEPTH = 6
_TREES = 150
_OFFERED = 0.3  # part of the columns that each split may choose from
_LEARNING_RATE = 0.05


@dataclass(frozen=True, slots=True)
class Boosted:
    """One forest per contrast (mean quality, gains) in one table of nodes.

    `directions` float32 [width, 32] projects the embedding. Per node: the column that is compared, the limit, where to
    go at or below it and above it (a leaf goes to itself), the value of a leaf. `roots` int32 [models, trees];
    `start` [models].
    """

    directions: NDArray[np.float32]
    column: NDArray[np.int32]
    limit: Floats
    below: NDArray[np.int32]
    above: NDArray[np.int32]
    value: Floats
    roots: NDArray[np.int32]
    start: Floats

    def contrasts(self, inputs: Inputs) -> Floats:
        """What the forests predict, [n, models]; see contrasts.py."""
        columns = _columns(inputs, self.directions)
        rows = np.arange(len(inputs))[:, None]
        node = np.broadcast_to(self.roots.ravel(), (len(inputs), self.roots.size))
        for _ in range(_DEPTH):
            goes_below = columns[rows, self.column[node]] <= self.limit[node]
            node = np.where(goes_below, self.below[node], self.above[node])
        sums = self.value[node].reshape(len(inputs), *self.roots.shape).sum(axis=2)
        return np.asarray(sums + self.start, np.float64)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that `load` needs."""
        names = ("directions", "column", "limit", "below", "above", "value", "roots", "start")
        return {name: getattr(self, name) for name in names}


def load(tensors: Mapping[str, NDArray[np.generic]]) -> Boosted:
    """The head that these tensors describe."""
    whole = {name: np.asarray(tensors[name], np.int32) for name in ("column", "below", "above", "roots")}
    real = {name: np.asarray(tensors[name], np.float64) for name in ("limit", "value", "start")}
    directions = np.asarray(tensors["directions"], np.float32)
    return Boosted(
        directions, whole["column"], real["limit"], whole["below"], whole["above"], real["value"], whole["roots"],
        real["start"],
    )  # fmt: skip


def fit(inputs: Inputs, targets: Targets) -> Boosted:
    """Histogram gradient boosting on squared error. Weights count as whole numbers. Deterministic."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    directions = _main_directions(inputs.vectors)
    columns = _columns(inputs, directions)
    # Rows are repeated, not weighted: scikit-learn bins weighted columns by one sort per bin, a hundred times slower.
    rows = np.repeat(np.arange(len(inputs)), np.rint(targets.weight).astype(np.intp))
    models = [
        HistGradientBoostingRegressor(
            max_iter=_TREES, learning_rate=_LEARNING_RATE, max_leaf_nodes=15, max_depth=_DEPTH, max_features=_OFFERED,
            l2_regularization=10.0,
            min_samples_leaf=40, early_stopping=False, random_state=0,
        ).fit(columns[rows], target[rows])
        for target in to_contrasts(targets.quality).T
    ]  # fmt: skip
    head = _compile(models, directions)
    _check(head, models, inputs)
    return head


def _main_directions(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The 32 directions along which the embeddings vary most, [width, 32]; fewer where there are fewer rows."""
    centred = vectors - vectors.mean(0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    return np.ascontiguousarray(directions[:, ::-1][:, :_DIRECTIONS], dtype=np.float32)


def _columns(inputs: Inputs, directions: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.hstack([inputs.lexical, inputs.vectors @ directions])


def _compile(models: "list[HistGradientBoostingRegressor]", directions: NDArray[np.float32]) -> Boosted:
    """The trees of scikit-learn's models as flat tables. Its node table is not a public API, so `_check` follows."""
    trees = [[stage[0].nodes for stage in model._predictors] for model in models]
    flat = [nodes for forest in trees for nodes in forest]
    starts = np.cumsum([0, *(len(nodes) for nodes in flat)])
    table = np.concatenate(flat)
    leaf = table["is_leaf"].astype(bool)
    here = np.arange(len(table))
    origin = np.repeat(starts[:-1], [len(nodes) for nodes in flat])
    return Boosted(
        directions=directions,
        column=np.where(leaf, 0, table["feature_idx"]).astype(np.int32),
        limit=np.where(leaf, 0.0, table["num_threshold"]),
        below=np.where(leaf, here, origin + table["left"]).astype(np.int32),
        above=np.where(leaf, here, origin + table["right"]).astype(np.int32),
        value=np.where(leaf, table["value"], 0.0),
        roots=starts[:-1].reshape(len(models), -1).astype(np.int32),
        start=np.array([float(np.ravel(model._baseline_prediction)[0]) for model in models]),
    )


def _check(head: Boosted, models: "list[HistGradientBoostingRegressor]", inputs: Inputs) -> None:
    columns = _columns(inputs, head.directions)[:256]
    few = Inputs(inputs.vectors[:256], inputs.lexical[:256])
    expected = np.stack([model.predict(columns) for model in models], axis=1)
    if not np.allclose(head.contrasts(few), expected, atol=1e-6):
        raise RuntimeError("this release of scikit-learn lays out its trees in another way than boosted.py reads them")
