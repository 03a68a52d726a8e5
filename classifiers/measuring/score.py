"""Scores prompts with an artefact: one CSV in, one CSV out, for anyone's own scorer."""

import csv
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from classifiers import artefact
from classifiers.artefact import Artefact
from classifiers.embedding.store import EmbedStore, Progress, open_store
from classifiers.features.lexical import lexical_rows_of
from classifiers.heads.inputs import Floats, Inputs, read_inputs
from classifiers.outcomes.own import Prompts, first_and_last, read_prompts
from classifiers.reading.readings import lower, readings
from classifiers.unfamiliar.doubt import judged


class Served(NamedTuple):
    """P(good) of each turn [n, models], and why its estimate isn't to be trusted, or ""."""

    p_good: Floats
    doubts: Sequence[str]


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
    inputs = known_inputs(opened, texts, store)
    return as_served(opened, texts, store, inputs, opened.blend.p_good(inputs)).p_good


def as_served(opened: Artefact, texts: Sequence[str], store: EmbedStore, inputs: Inputs, p_good: Floats) -> Served:
    """By the reading of each turn that a gateway judges; `inputs` and `p_good` [n, models] are of the turns as they are."""
    read = [readings(text) for text in texts]
    others = [other for _, *rest in read for other in rest]
    again = Inputs(store.of_asked(others), lexical_rows_of(others))
    more = zip(again.vectors, opened.blend.p_good(again), strict=True)
    served, doubts = p_good.copy(), []
    for at, named in enumerate(read):
        found = [(inputs.vectors[at], p_good[at]), *islice(more, len(named) - 1)]
        vectors, rows = [vector for vector, _ in found], np.stack([row for _, row in found])
        taken, why = judged(opened, named, vectors, lower(rows, opened.manifest.heads))
        served[at] = rows[taken]
        doubts.append(why)
    return Served(served, doubts)


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
