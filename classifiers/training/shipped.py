"""Trains the classifier that is shipped: outcomes in, one artefact and one table out."""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from classifiers import artefact
from classifiers.artefact import Manifest
from classifiers.embedding.encoder import encoder_name
from classifiers.embedding.store import Progress, open_store
from classifiers.features.lexical import NAMES
from classifiers.heads.inputs import PAIR, Targets, read_inputs
from classifiers.measuring import metrics
from classifiers.measuring.baselines import length
from classifiers.measuring.report import Cell, Report
from classifiers.measuring.score import gain
from classifiers.measuring.tiered import gains_of, measure_tiered
from classifiers.outcomes import pool
from classifiers.outcomes.data import Examples
from classifiers.outcomes.pool import Pool
from classifiers.stages import Beside, beside
from classifiers.training.learn import Learned, learn
from classifiers.training.written import Written, curves_of, written

SAMPLE_ROWS = 2000
Floats = NDArray[np.float64]
_COLUMNS = (
    "source", "prompts", "held out", "good small", "predicted small", "good large", "predicted large", "APGR", "ECE small",
)  # fmt: skip

_CARD: dict[str, object] = {
    "predicts": "P(a model of the head answers well) for one turn of a user, heads small and large",
    "good": "MMLU, MMLU-Pro, GSM8K: the graded answer is right; mix: the task's own score, 0..1; groups of models: the mean",
    "anchors": "prompts written for this project; their chances are assumptions, not measurements",
    "sources": {
        "mmlu, gsm8k": "lm-sys/RouteLLM@0b64fda, Apache-2.0, data MIT; Mixtral-8x7B-Instruct against gpt-4-1106-preview",
        "mmlu-pro": "TIGER-AI-Lab/MMLU-Pro@f418b11, Apache-2.0, data MIT; questions shared with MMLU left out",
        "mix": "ulab-uiuc/LLMRouter@4e7a796, MIT; tasks under CC BY, CC BY-SA, Apache-2.0 and MIT; GPQA left out",
    },
    "small_models": {"mmlu-pro": pool.PRO_SMALL, "mix": pool.MIX_SMALL},
    "large_models": {"mmlu-pro": pool.PRO_LARGE, "mix": pool.MIX_LARGE},
    "not_for": "other languages than English; the models of your own deployment, until it is trained on their outcomes",
}  # fmt: skip


def train(
    data_dir: Path,
    out_dir: Path,
    *,
    cache_dir: Path,
    name: str = "first-light",
    trained_on: str,
    embedder: str | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> Written:
    """Writes the artefact to `out_dir` and `report.json` beside it.

    `cache_dir` keeps embeddings between runs; `trained_on` is the date for the data card. Raises DataMissing,
    EncoderMissing; ValueError where the large models are no better than the small ones on the prompts held out.
    """
    rows = pool.read_pool(data_dir)
    store = open_store(cache_dir, embedder, threads, progress)
    vectors, probe = store.vectors(rows.examples.texts), store.vectors([artefact.PROBE_TEXT])[0]
    inputs = read_inputs(rows.examples.texts, vectors)
    seen, held = np.nonzero(~rows.held_out)[0], np.nonzero(rows.held_out)[0]
    read = beside(rows.examples.texts, inputs)
    learned = learn(inputs.take(seen), targets_of(rows.examples, rows.weight).take(seen), read.take(seen))
    p_good = learned.blend.p_good(inputs.take(held))
    measured = _metrics(rows.examples.take(held), p_good) | _quick_metrics(
        learned, rows.examples.take(held), read.take(held), p_good
    )
    manifest = _manifest(name, trained_on, embedder, rows, measured)
    sealed = artefact.save(out_dir, manifest, learned.blend, p_good[:SAMPLE_ROWS], probe, stages=learned.stages)
    apart = rows.examples.take(held)
    drawn = curves_of(gain(p_good, PAIR), length(apart.texts), p_good, targets_of(apart).quality, PAIR)
    return written(sealed, _report(rows, held, p_good), drawn, out_dir)


def targets_of(examples: Examples, weight: Floats | None = None) -> Targets:
    """The two qualities side by side; weight 1 each unless given."""
    quality = np.stack([examples.q_small, examples.q_large], axis=1)
    return Targets(quality, np.ones(len(examples)) if weight is None else weight)


def _manifest(name: str, trained_on: str, embedder: str | None, rows: Pool, measured: dict[str, float]) -> Manifest:
    card = {**_CARD, "prompts": rows.counts, "held_out": int(rows.held_out.sum()), "anchor_weight": pool.ANCHOR_WEIGHT}
    return Manifest(
        format=artefact.FORMAT, name=name, trained_on=trained_on, encoder=encoder_name(embedder),
        features=NAMES, heads=PAIR, tensors_sha256="", card=card, metrics=measured,
        libraries={package: version(package) for package in ("scikit-learn", "numpy", "sentence-transformers", "torch")},
    )  # fmt: skip


def _metrics(held: Examples, p_good: Floats) -> dict[str, float]:
    gain = p_good[:, 1] - p_good[:, 0]
    measured = {
        "apgr": metrics.apgr(gain, held.q_small, held.q_large),
        "ece_small": metrics.ece(p_good[:, 0], held.q_small),
        "ece_large": metrics.ece(p_good[:, 1], held.q_large),
        "log_loss_small": metrics.log_loss(p_good[:, 0], held.q_small),
        "log_loss_large": metrics.log_loss(p_good[:, 1], held.q_large),
    }
    return {name: round(value, 4) for name, value in measured.items()}


def _quick_metrics(learned: Learned, held: Examples, read: Beside, p_good: Floats) -> dict[str, float]:
    """How the quick stage did on the prompts held out, and which part of them is oddly written."""
    if learned.stages is None:
        return {}
    found = measure_tiered(
        gains_of(learned.blend, learned.stages, read.static, p_good, PAIR), held.q_small, held.q_large
    )
    told = {"share": found.share_quick, "apgr_loss": found.apgr_loss, "moved": found.moved, "inside": found.inside}
    quick = {f"quick_{name}": round(value, 4) for name, value in told.items() if value is not None}
    odd = learned.stages.odd
    if odd is None or read.spelled is None:
        return quick
    return {**quick, "odd": round(float((odd.all(read.spelled) > odd.most).mean()), 4)}


def _report(rows: Pool, held: NDArray[np.intp], p_good: Floats) -> Report:
    examples = rows.examples.take(held)
    groups = np.array(examples.groups)
    table = [_row("all", len(rows.examples), examples, p_good)]
    for source, count in rows.counts.items():
        at = np.nonzero(groups == source)[0]
        table.append(_row(source, count, examples.take(at), p_good[at]))
    return Report(title="trained; measured on the prompts held out", columns=_COLUMNS, rows=tuple(table))


def _row(source: str, prompts: int, held: Examples, p_good: Floats) -> tuple[Cell, ...]:
    small, large = map(float, p_good.mean(0))
    means = (float(held.q_small.mean()), small, float(held.q_large.mean()), large)
    # Where the large model is no better on these few prompts there is no gap that routing could recover.
    has_gap = held.q_large.mean() > held.q_small.mean()
    apgr = metrics.apgr(p_good[:, 1] - p_good[:, 0], held.q_small, held.q_large) if has_gap else None
    return (source, prompts, len(held), *means, apgr, metrics.ece(p_good[:, 0], held.q_small))
