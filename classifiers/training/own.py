"""Trains a classifier on a person's own outcomes: one CSV in, one artefact and one table out."""

import hashlib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np

from classifiers import artefact
from classifiers.artefact import Manifest
from classifiers.embedding.encoder import encoder_name
from classifiers.embedding.store import EmbedStore, Progress, open_store
from classifiers.features.lexical import NAMES
from classifiers.features.text import digest
from classifiers.files import write_whole
from classifiers.heads.inputs import Floats, Inputs, Targets, read_inputs
from classifiers.measuring import metrics
from classifiers.measuring.baselines import length
from classifiers.measuring.curves import Curves
from classifiers.measuring.report import Report
from classifiers.measuring.score import gain
from classifiers.outcomes.own import Outcomes, OutcomesRefused, first_and_last, read_outcomes
from classifiers.stages import beside
from classifiers.training.learn import FEWEST, Learned, learn
from classifiers.training.new_kinds import on_new_kinds
from classifiers.training.written import Written, curves_of, written

SAMPLE_ROWS = 2000


def train_own(
    data: Path,
    out_dir: Path,
    *,
    cache_dir: Path,
    trained_on: str,
    embedder: str | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> Written:
    """Writes the artefact to `out_dir` and `report.json` beside it. A file without rows gives the shipped artefact.

    `cache_dir` keeps embeddings between runs; `trained_on` is the date for the data card. Nothing of the shipped
    classifier goes into it: labels belong to the models that earned them. Raises OutcomesRefused, EncoderMissing.
    """
    outcomes = read_outcomes(data)
    if not len(outcomes):
        return _shipped(out_dir)
    if len(outcomes) < FEWEST:
        raise OutcomesRefused(
            f"{data} holds {len(outcomes)} prompts; at least {FEWEST} are needed, a few hundred are worth having "
            "(a header alone gives the shipped classifier)"
        )
    out_dir.mkdir(parents=True, exist_ok=True)  # who cannot write there learns it before the work
    store = open_store(cache_dir, embedder, threads, progress)
    order = _without_meaning(outcomes)
    learned, measured = fit_outcomes(outcomes, order, store)
    manifest = Manifest(
        format=artefact.FORMAT, name=_readable(data.stem), trained_on=trained_on, encoder=encoder_name(embedder),
        features=NAMES, heads=outcomes.models, tensors_sha256="", card=_card(data, outcomes), metrics=measured,
        libraries=libraries(),
    )  # fmt: skip
    probe = store.vectors([artefact.PROBE_TEXT])[0]
    sealed = artefact.save(out_dir, manifest, learned.blend, learned.p_good[:SAMPLE_ROWS], probe, stages=learned.stages)
    drawn = _curves(outcomes, [order[at] for at in learned.kept], learned)
    return written(sealed, _report(outcomes, len(learned.kept), measured), drawn, out_dir)


def fit_outcomes(outcomes: Outcomes, order: list[int], store: EmbedStore) -> tuple[Learned, dict[str, float]]:
    """The blend of the rows in this order, and how it did on the rows it had not seen."""
    texts = [outcomes.prompts.texts[at] for at in order]
    quality = outcomes.quality[order]
    targets = Targets(quality, np.ones(len(order)))
    inputs = read_inputs(texts, store.vectors(texts))
    learned = learn(inputs, targets, beside(texts, inputs))
    measured = held_out(learned.p_unseen, quality[learned.kept], outcomes.models, learned.round_of, learned.p_good)
    return learned, measured | _beside_length(learned, inputs, targets, texts, outcomes.models)


def _curves(outcomes: Outcomes, kept: list[int], learned: Learned) -> Curves:
    """Of the rows that were kept back, which are `kept` in the file; an order is one within what one round kept back."""
    order, chars = gain(learned.p_good, outcomes.models), length([outcomes.prompts.texts[at] for at in kept])
    ours, longest = (metrics.ranks_within(one, learned.round_of) for one in (order, chars))
    return curves_of(ours, longest, learned.p_unseen, outcomes.quality[kept], outcomes.models)


def _beside_length(
    learned: Learned, inputs: Inputs, targets: Targets, texts: list[str], models: tuple[str, ...]
) -> dict[str, float]:
    """What prompt length alone has on the same rows, and both on kinds of prompts that were not learned from."""
    first, last = pair = first_and_last(models)
    kept, chars = targets.quality[learned.kept], length(texts)
    if not metrics.has_gap(kept[:, first], kept[:, last]):
        return {}
    order = metrics.ranks_within(chars[learned.kept], learned.round_of)
    found = {"apgr_length": metrics.apgr(order, kept[:, first], kept[:, last])}
    if (new := on_new_kinds(inputs, targets, chars, pair)) is not None:
        found |= {"apgr_new_kinds": new.ours, "apgr_new_kinds_length": new.length}
    return {name: round(value, 4) for name, value in found.items()}


def held_out(
    p_good: Floats, quality: Floats, models: tuple[str, ...], round_of: metrics.Rows, ranked: Floats | None = None
) -> dict[str, float]:
    """ECE and log loss per model; APGR where there is a gap between the models that could be recovered, ranked within the
    rows that were kept back from the same heads, by `ranked` where their chances are not all on one scale."""
    found: dict[str, float] = {}
    for at, model in enumerate(models):
        found[f"ece_{model}"] = metrics.ece(p_good[:, at], quality[:, at])
        found[f"log_loss_{model}"] = metrics.log_loss(p_good[:, at], quality[:, at])
    first, last = first_and_last(models)
    if metrics.has_gap(quality[:, first], quality[:, last]):
        told = p_good if ranked is None else ranked
        order = metrics.ranks_within(told[:, last] - told[:, first], round_of)
        found["apgr"] = metrics.apgr(order, quality[:, first], quality[:, last])
    return {name: round(value, 4) for name, value in found.items()}


def libraries() -> dict[str, str]:
    """The releases that made an artefact."""
    return {package: version(package) for package in ("scikit-learn", "numpy", "sentence-transformers", "torch")}


def _readable(name: str) -> str:
    """The name of a file may hold bytes that no JSON can."""
    return name.encode(errors="replace").decode()


def _without_meaning(outcomes: Outcomes) -> list[int]:
    """Positions by digest of the text: who is kept back for calibration must not depend on the order of the file."""
    return sorted(range(len(outcomes)), key=lambda at: digest(outcomes.prompts.texts[at]))


def _shipped(out_dir: Path) -> Written:
    files = (artefact.MANIFEST, artefact.TENSORS)
    write_whole({out_dir / name: (artefact.SHIPPED / name).read_bytes() for name in files})
    manifest = artefact.load(out_dir).manifest
    rows = tuple((model, 0, None, None) for model in manifest.heads)
    title = f"no outcomes: the shipped classifier, {manifest.name}"
    nothing = dict.fromkeys(("reliability", "deferral", "frontier"), "there are no outcomes")
    return written(manifest, Report(title=title, columns=_COLUMNS, rows=rows), Curves(missing=nothing), out_dir)


def _card(data: Path, outcomes: Outcomes) -> Mapping[str, object]:
    return {
        "predicts": "P(the model answers well) for one turn of a user, one head per model",
        "good": "the outcome column of each model, 0..1",
        "data_sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
        "prompts": len(outcomes),
        "mean_quality": {
            model: round(float(mean), 4) for model, mean in zip(outcomes.models, outcomes.quality.mean(0), strict=True)
        },
        "not_for": "other models than these, and kinds of prompts that are not among these",
    }


_COLUMNS = ("model", "prompts", "mean quality", "ECE")


def _report(outcomes: Outcomes, kept: int, measured: Mapping[str, float]) -> Report:
    rows = tuple(
        (model, len(outcomes), float(mean), measured[f"ece_{model}"])
        for model, mean in zip(outcomes.models, outcomes.quality.mean(0), strict=True)
    )
    notes = [f"on {kept} prompts that were kept back: {_told(measured, 'apgr', 'apgr_length')}"]
    if "apgr_new_kinds" in measured:
        told = _told(measured, "apgr_new_kinds", "apgr_new_kinds_length")
        notes.append(f"within kinds of prompts that it did not learn from: {told}")
    return Report(title="trained on own outcomes", columns=_COLUMNS, rows=rows, notes=tuple(notes))


def _told(measured: Mapping[str, float], ours: str, by_length: str) -> str:
    if ours not in measured:
        return "no gap between the models to recover"
    got, length = (round(measured[name], 3) for name in (ours, by_length))
    told = f"APGR {got:.3f}; prompt length alone has {length:.3f}, random 0.5"
    if got > length:
        return told
    if got == length:
        return f"{told}: a tie, so it shows nothing there that length does not"
    return f"{told}: it loses to length there, so don't route such prompts by it"
