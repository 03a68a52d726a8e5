"""Scores prompts with an artefact: one CSV in, one CSV out, for anyone's own scorer."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from classifiers import artefact
from classifiers.artefact import Artefact
from classifiers.embedding.store import EmbedStore, Progress, open_store
from classifiers.features.lexical import lexical_rows_of
from classifiers.heads.inputs import Floats, Inputs, read_inputs
from classifiers.outcomes.own import Prompts, first_and_last, read_prompts
from classifiers.reading.readings import lower, readings


def score(
    folder: Path,
    data: Path,
    out: Path,
    *,
    cache_dir: Path,
    embedder: str | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> int:
    """Writes `prompt_id,score,p_good_<model>…`, one row per prompt in the order of `data`; returns how many.

    `score` is the predicted gain of the large model over the small one: higher means send to large. Raises
    ArtefactRefused, OutcomesRefused, EncoderMissing.
    """
    opened, prompts = artefact.load(folder), read_prompts(data)
    store = store_of(opened, cache_dir, embedder, threads, progress)
    p_good = chances(opened, prompts.texts, store)
    _write(out, prompts, opened.manifest.heads, p_good)
    return len(prompts)


def chances(opened: Artefact, texts: Sequence[str], store: EmbedStore) -> Floats:
    """Calibrated P(good) of each prompt, [n, models]. Raises ArtefactRefused where the encoder is another one."""
    return as_served(opened, texts, store, opened.blend.p_good(known_inputs(opened, texts, store)))


def as_served(opened: Artefact, texts: Sequence[str], store: EmbedStore, p_good: Floats) -> Floats:
    """`p_good` [n, models] of the turns as they are, with those of another reading where that promises less gain."""
    again = [(at, other) for at, text in enumerate(texts) for other in readings(text)[1:]]
    served = p_good.copy()
    others = [other for _, other in again]
    inputs = Inputs(store.of_asked(others), lexical_rows_of(others))
    for (at, _), row in zip(again, opened.blend.p_good(inputs), strict=True):
        both = np.stack([served[at], row])
        served[at] = both[lower(both, opened.manifest.heads)]
    return served


def known_inputs(opened: Artefact, texts: Sequence[str], store: EmbedStore) -> Inputs:
    """What the blend reads of each prompt. Raises ArtefactRefused where the encoder is another one."""
    artefact.check_encoder(opened, store.vectors([artefact.PROBE_TEXT])[0])
    return read_inputs(texts, store.vectors(texts))


def gain(p_good: Floats, models: Sequence[str]) -> Floats:
    """Large over small, [n]."""
    first, last = first_and_last(models)
    return p_good[:, last] - p_good[:, first]


def store_of(
    opened: Artefact, cache_dir: Path, embedder: str | None, threads: int, progress: Progress | None
) -> EmbedStore:
    """Embeddings by the encoder that the artefact was trained on, unless another one is named."""
    return open_store(cache_dir, embedder or opened.manifest.encoder, threads, progress)


def _write(out: Path, prompts: Prompts, models: Sequence[str], p_good: Floats) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("prompt_id", "score", *(f"p_good_{model}" for model in models)))
        for name, predicted, row in zip(prompts.ids, gain(p_good, models), p_good, strict=True):
            writer.writerow((name, f"{predicted:.9f}", *(f"{p:.9f}" for p in row)))
