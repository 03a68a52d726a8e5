"""Puts an artefact on the scale of local outcomes: the heads stay, what their numbers mean is learned anew."""

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from classifiers import artefact
from classifiers.embedding.store import Progress
from classifiers.features.text import digest
from classifiers.heads.blend import PARTS, Blend, crossed, fit_scale, mean_contrasts
from classifiers.heads.inputs import Floats, Targets, read_inputs
from classifiers.measuring import metrics
from classifiers.measuring.curves import Curves, reliabilities
from classifiers.measuring.measure import qualities_of
from classifiers.measuring.report import Report
from classifiers.measuring.score import store_of
from classifiers.outcomes.own import OutcomesRefused, read_outcomes
from classifiers.stages import beside, fit_locally
from classifiers.training.learn import FEWEST
from classifiers.training.own import SAMPLE_ROWS, held_out, libraries
from classifiers.training.written import Written, written

COLUMNS = ("model", "observed", "predicted before", "ECE before", "predicted after", "ECE after")


def recalibrate(
    folder: Path | None,
    data: Path,
    out_dir: Path,
    *,
    cache_dir: Path,
    trained_on: str,
    embedder: str | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> Written:
    """Writes the artefact anew to `out_dir`, its thresholds solved on these prompts; a few hundred outcomes are enough.

    The table compares before and after on rows that the new scale had not seen, a fifth at a time. The order of
    prompts by gain stays, but for chances that reach a bound. Raises ArtefactRefused, OutcomesRefused, EncoderMissing.
    """
    opened, outcomes = artefact.load(folder or artefact.SHIPPED), read_outcomes(data)
    models = opened.manifest.heads
    if len(outcomes) < FEWEST:
        raise OutcomesRefused(f"{data} holds {len(outcomes)} prompts; at least {FEWEST} are needed")
    quality = qualities_of(outcomes, models, data)
    store = store_of(opened, cache_dir, embedder, threads, progress)
    artefact.check_encoder(opened, store.vectors([artefact.PROBE_TEXT])[0])
    order = sorted(range(len(outcomes)), key=lambda at: digest(outcomes.prompts.texts[at]))
    texts, quality = [outcomes.prompts.texts[at] for at in order], quality[order]
    inputs = read_inputs(texts, store.vectors(texts))
    said = mean_contrasts(opened.blend.members, inputs)
    targets = Targets(quality, np.ones(len(texts)))
    blend, unseen = Blend(opened.blend.members, fit_scale(said, targets)), crossed(said, targets)
    before = opened.blend.scale.apply(said)
    manifest = msgspec.structs.replace(
        opened.manifest, trained_on=trained_on, libraries=libraries(),
        metrics=held_out(unseen, quality, models, np.arange(len(said)) % PARTS),
        card={**opened.manifest.card, "calibrated_on": _card(data, outcomes_count=len(texts))},
    )  # fmt: skip
    stages = opened.stages and fit_locally(opened.stages, blend, inputs, beside(texts, inputs))
    sealed = artefact.save(out_dir, manifest, blend, blend.scale.apply(said)[:SAMPLE_ROWS], opened.probe, stages=stages)
    drawn = Curves(reliability=reliabilities(unseen, quality, models), before=reliabilities(before, quality, models))
    return written(sealed, _report(models, quality, before, unseen), drawn, out_dir)


def _card(data: Path, outcomes_count: int) -> dict[str, object]:
    return {"data_sha256": hashlib.sha256(data.read_bytes()).hexdigest(), "prompts": outcomes_count}


def _report(models: tuple[str, ...], quality: Floats, before: Floats, after: Floats) -> Report:
    rows = tuple(
        (model, float(observed.mean()), *_cells(one, observed), *_cells(other, observed))
        for model, observed, one, other in zip(models, quality.T, before.T, after.T, strict=True)
    )
    return Report(title=f"calibrated on {len(quality)} prompts", columns=COLUMNS, rows=rows)


def _cells(p_good: Floats, quality: Floats) -> tuple[float, float]:
    return float(p_good.mean()), metrics.ece(p_good, quality)
