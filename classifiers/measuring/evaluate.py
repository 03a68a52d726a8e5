"""Measures the recipe on published outcomes, beside every baseline: in distribution, across benchmarks, as shipped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classifiers import artefact
from classifiers.artefact import Artefact
from classifiers.embedding.store import EmbedStore, Progress, open_store
from classifiers.heads.blend import Blend
from classifiers.heads.inputs import PAIR, read_inputs
from classifiers.measuring import metrics
from classifiers.measuring.baselines import BASELINES
from classifiers.measuring.curves import Curves, deferral, reliabilities
from classifiers.measuring.report import Cell, Report
from classifiers.measuring.score import known_inputs, store_of
from classifiers.outcomes import data, pool
from classifiers.outcomes.data import Examples, same_question
from classifiers.outcomes.splits import SPLITS, Fold
from classifiers.training.learn import learn
from classifiers.training.shipped import targets_of

Floats = NDArray[np.float64]

DEFAULT_SPLITS = ("mmlu-few1531", "mmlu-cv5", "gsm8k-cv5", "mix-mistral-cv5")
COLUMNS = ("measured on", "router", "prompts", "quality at 40 % large", "APGR", "95 %", "CPT50", "CPT80", "ECE small")

_OURS, _ALWAYS = "turnout", "always"

TRANSFERS: Mapping[str, tuple[Callable[[Path], Examples], Callable[[Path], Examples]]] = {
    "mmlu → gsm8k": (data.mmlu, data.gsm8k),
    "mix → gsm8k": (lambda folder: data.mix(folder, pool.MIX_SMALL, pool.MIX_LARGE), data.gsm8k),
    "gsm8k → mmlu": (data.gsm8k, data.mmlu),
    "mix → mmlu": (lambda folder: data.mix(folder, pool.MIX_SMALL, pool.MIX_LARGE), data.mmlu),
}
"""Learn from one benchmark, measure on another; questions that stand in both are not learned from."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One router on one set of prompts. `score` orders prompts; `p_good` [n, 2] are the chances of small and large, or None."""

    score: Floats
    p_good: Floats | None = None


class Published(Report, frozen=True, kw_only=True):
    """A table over all sets of prompts; `curves` by set."""

    curves: Mapping[str, Curves]


class _Set(NamedTuple):
    """All routers on one set of prompts, ours first."""

    name: str
    test: Examples
    routers: Mapping[str, Measured]


def evaluate(
    shipped: Path | None,
    data_dir: Path,
    *,
    cache_dir: Path,
    splits: Sequence[str] = DEFAULT_SPLITS,
    transfers: Sequence[str] = tuple(TRANSFERS),
    embedder: str | None = None,
    threads: int = 2,
    resamples: int = 100,
    progress: Progress | None = None,
) -> Published:
    """One row per router and set of prompts. The recipe is trained anew on each split; `shipped` only meets MT-Bench.

    `splits` are names of SPLITS, `transfers` of TRANSFERS; `resamples` bootstraps give the interval. Raises DataMissing,
    ArtefactRefused, EncoderMissing; KeyError on an unknown name.
    """
    data.require(data_dir)
    store = open_store(cache_dir, embedder, threads, progress)
    found = [_anew(name, SPLITS[name](data_dir), store) for name in splits]
    for name in transfers:
        source, target = TRANSFERS[name]
        found.append(_anew(name, (_transfer(source(data_dir), target(data_dir)),), store))
    opened = artefact.load(shipped or artefact.SHIPPED)
    own = store_of(opened, cache_dir, embedder, threads, progress)
    found.append(_as_shipped(opened, data.mtbench(data_dir), own))
    return Published(
        title="routing quality", columns=COLUMNS,
        rows=tuple(_row(one, router, resamples) for one in found for router in one.routers),
        curves={one.name: _curves(one) for one in found},
    )  # fmt: skip


def _anew(name: str, folds: Sequence[Fold], store: EmbedStore) -> _Set:
    """The recipe, trained on each fold."""
    test = data.join([fold.test for fold in folds])
    ours = [_p_good(_learned(fold.train, store), fold.test, store) for fold in folds]
    others = {
        baseline: Measured(np.concatenate([_within(order(fold.test.texts)) for fold in folds]))
        for baseline, order in BASELINES.items()
    }
    return _Set(name, test, {_OURS: _pooled(ours), **others})


def _as_shipped(opened: Artefact, test: Examples, store: EmbedStore) -> _Set:
    p_good = opened.blend.p_good(known_inputs(opened, test.texts, store))
    ours = Measured(p_good[:, 1] - p_good[:, 0])  # MT-Bench has grades, no chances of being right
    others = {baseline: Measured(order(test.texts)) for baseline, order in BASELINES.items()}
    return _Set("mt-bench", test, {f"{_OURS}, as shipped": ours, **others})


def _learned(train: Examples, store: EmbedStore) -> Blend:
    return learn(read_inputs(train.texts, store.vectors(train.texts)), targets_of(train)).blend


def _p_good(blend: Blend, test: Examples, store: EmbedStore) -> Floats:
    return blend.p_good(read_inputs(test.texts, store.vectors(test.texts)))


def _pooled(folds: Sequence[Floats]) -> Measured:
    """Scores of separately trained folds side by side: each as its rank within its fold, for their scales differ."""
    gains = [_within(p_good[:, 1] - p_good[:, 0]) for p_good in folds]
    return Measured(np.concatenate(gains), np.concatenate(folds))


def _within(score: Floats) -> Floats:
    """Each as its rank's middle among these: 0.5 in a fold of any size where all are alike."""
    return (metrics.ranks(score) - 0.5) / len(score)


def _transfer(source: Examples, target: Examples) -> Fold:
    known = set(map(same_question, target.texts))
    keep = [at for at, text in enumerate(source.texts) if same_question(text) not in known]
    return Fold(source.take(keep), target)


def _row(found: _Set, router: str, resamples: int) -> tuple[Cell, ...]:
    test, measured = found.test, found.routers[router]
    if router.startswith(_ALWAYS):
        quality = test.q_small if router == "always small" else test.q_large
        return (found.name, router, len(test), float(quality.mean()), *(None,) * 5)
    outcome = (measured.score, test.q_small, test.q_large)
    curve = metrics.deferral_curve(*outcome)
    ece = None if measured.p_good is None else metrics.ece(measured.p_good[:, 0], test.q_small)
    return (
        found.name, router, len(test), float(np.interp(0.4, curve.share, curve.quality)),
        metrics.apgr(*outcome), metrics.apgr_interval(*outcome, resamples=resamples, seed=0),
        metrics.cpt(*outcome, 0.5), metrics.cpt(*outcome, 0.8), ece,
    )  # fmt: skip


def _curves(found: _Set) -> Curves:
    test, (ours, *_) = found.test, found.routers.values()
    routers = {
        router.removesuffix(", as shipped"): deferral(measured.score, test.q_small, test.q_large)
        for router, measured in found.routers.items()
        if not router.startswith(_ALWAYS)
    }
    if ours.p_good is None:
        return Curves(deferral=routers, missing={"reliability": f"{found.name} has grades, which are no chances"})
    quality = np.stack([test.q_small, test.q_large], axis=1)
    return Curves(deferral=routers, reliability=reliabilities(ours.p_good, quality, PAIR))
