"""Measures the recipe on published outcomes, beside every baseline: in distribution, across benchmarks, as shipped."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from classifiers import artefact
from classifiers.embedding.store import EmbedStore, Progress, open_store
from classifiers.heads.blend import Blend
from classifiers.heads.inputs import read_inputs
from classifiers.measuring import metrics
from classifiers.measuring.baselines import BASELINES
from classifiers.measuring.report import Report
from classifiers.outcomes import data, pool
from classifiers.outcomes.data import Examples, same_question
from classifiers.outcomes.splits import SPLITS, Fold
from classifiers.training.learn import learn
from classifiers.training.shipped import targets_of

Floats = NDArray[np.float64]

DEFAULT_SPLITS = ("mmlu-few1531", "mmlu-cv5", "gsm8k-cv5", "mix-mistral-cv5")
COLUMNS = ("measured on", "router", "prompts", "quality at 40 % large", "APGR", "95 %", "CPT50", "CPT80", "ECE small")

TRANSFERS: Mapping[str, tuple[Callable[[Path], Examples], Callable[[Path], Examples]]] = {
    "mmlu → gsm8k": (data.mmlu, data.gsm8k),
    "mix → gsm8k": (lambda folder: data.mix(folder, pool.MIX_SMALL, pool.MIX_LARGE), data.gsm8k),
    "gsm8k → mmlu": (data.gsm8k, data.mmlu),
    "mix → mmlu": (lambda folder: data.mix(folder, pool.MIX_SMALL, pool.MIX_LARGE), data.mmlu),
}
"""Learn from one benchmark, measure on another; questions that stand in both are not learned from."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One router on one set of prompts. `score` orders prompts; `p_small` is P(small answers well), or None."""

    score: Floats
    p_small: Floats | None


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
) -> Report:
    """One row per router and set of prompts. The recipe is trained anew on each split; `shipped` only meets MT-Bench.

    `splits` are names of SPLITS, `transfers` of TRANSFERS; `resamples` bootstraps give the interval. Raises DataMissing,
    ArtefactRefused, EncoderMissing; KeyError on an unknown name.
    """
    data.require(data_dir)
    store = open_store(cache_dir, embedder, threads, progress)
    rows: list[tuple[str, ...]] = []
    for name in splits:
        rows += _table(name, SPLITS[name](data_dir), store, resamples)
    for name in transfers:
        source, target = TRANSFERS[name]
        rows += _table(name, (_transfer(source(data_dir), target(data_dir)),), store, resamples)
    rows += _as_shipped(shipped or artefact.SHIPPED, data.mtbench(data_dir), store, resamples)
    return Report(title="routing quality", columns=COLUMNS, rows=tuple(rows))


def _table(name: str, folds: Sequence[Fold], store: EmbedStore, resamples: int) -> Iterator[tuple[str, ...]]:
    test = data.join([fold.test for fold in folds])
    ours = [_p_good(_learned(fold.train, store), fold.test, store) for fold in folds]
    yield _row(name, "turnout", test, _pooled(ours), resamples)
    for baseline, order in BASELINES.items():
        scores = [metrics.ranks(order(fold.test.texts)) / len(fold.test) for fold in folds]
        yield _row(name, baseline, test, Measured(np.concatenate(scores), None), resamples)


def _as_shipped(folder: Path, test: Examples, store: EmbedStore, resamples: int) -> Iterator[tuple[str, ...]]:
    p_good = _p_good(artefact.load(folder).blend, test, store)
    yield _row("mt-bench", "turnout, as shipped", test, Measured(p_good[:, 1] - p_good[:, 0], None), resamples)
    for baseline, order in BASELINES.items():
        yield _row("mt-bench", baseline, test, Measured(order(test.texts), None), resamples)


def _learned(train: Examples, store: EmbedStore) -> Blend:
    return learn(read_inputs(train.texts, store.vectors(train.texts)), targets_of(train)).blend


def _p_good(blend: Blend, test: Examples, store: EmbedStore) -> Floats:
    return blend.p_good(read_inputs(test.texts, store.vectors(test.texts)))


def _pooled(folds: Sequence[Floats]) -> Measured:
    """Scores of separately trained folds side by side: each as its rank within its fold, for their scales differ."""
    gains = [metrics.ranks(p_good[:, 1] - p_good[:, 0]) / len(p_good) for p_good in folds]
    return Measured(np.concatenate(gains), np.concatenate([p_good[:, 0] for p_good in folds]))


def _transfer(source: Examples, target: Examples) -> Fold:
    known = set(map(same_question, target.texts))
    keep = [at for at, text in enumerate(source.texts) if same_question(text) not in known]
    return Fold(source.take(keep), target)


def _row(name: str, router: str, test: Examples, measured: Measured, resamples: int) -> tuple[str, ...]:
    if router.startswith("always"):
        quality = test.q_small if router == "always small" else test.q_large
        return (name, router, str(len(test)), f"{quality.mean():.3f}", "–", "–", "–", "–", "–")
    outcome = (measured.score, test.q_small, test.q_large)
    curve = metrics.deferral_curve(*outcome)
    low, high = metrics.apgr_interval(*outcome, resamples=resamples, seed=0)
    ece = "–" if measured.p_small is None else f"{metrics.ece(measured.p_small, test.q_small):.3f}"
    return (
        name, router, str(len(test)), f"{np.interp(0.4, curve.share, curve.quality):.3f}",
        f"{metrics.apgr(*outcome):.3f}", f"{low:.3f}–{high:.3f}",
        f"{metrics.cpt(*outcome, 0.5):.3f}", f"{metrics.cpt(*outcome, 0.8):.3f}", ece,
    )  # fmt: skip
