"""Embeddings kept on disk between training runs, one file per encoder. Training only; a gateway never opens it."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from classifiers.embedding.encoder import DEFAULT_NAME, Encoder, Vectors, find_encoder, open_encoder
from classifiers.features.text import cut, digest

WIDTH = 384
_ROW = np.dtype([("key", "V16"), ("vector", "<f4", (WIDTH,))])
_CHUNK = 512

Progress = Callable[[int, int], None]


def store_path(folder: Path, source: str) -> Path:
    """The file that holds what the encoder `source` made; another encoder, another file."""
    return folder / f"embeddings-{hashlib.sha256(source.encode()).hexdigest()[:12]}.rows"


class EmbedStore:
    """An append-only file of (digest of the cut text, vector). A row that was cut short by a kill is dropped."""

    def __init__(self, path: Path, encoder: Callable[[], Encoder], progress: Progress | None = None) -> None:
        self._path = path
        self._open = encoder
        self._encoder: Encoder | None = None
        self._progress = progress
        self._rows: dict[bytes, Vectors] = {}
        if path.is_file():
            whole = path.stat().st_size // _ROW.itemsize
            rows = np.fromfile(path, dtype=_ROW, count=whole)
            self._rows = dict(zip((key.tobytes() for key in rows["key"]), rows["vector"], strict=True))

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row per text, float32 [n, 384]; texts not seen before are embedded, shortest first, and kept."""
        cuts = [cut(text) for text in texts]
        keys = [digest(text) for text in cuts]
        missing = {key: text for key, text in zip(keys, cuts, strict=True) if key not in self._rows}
        self._embed(sorted(missing.items(), key=lambda pair: len(pair[1])))
        if not keys:
            return np.zeros((0, WIDTH), np.float32)
        return np.stack([self._rows[key] for key in keys])

    def _embed(self, missing: Sequence[tuple[bytes, str]]) -> None:
        for start in range(0, len(missing), _CHUNK):
            self._encoder = self._encoder or self._open()
            part = missing[start : start + _CHUNK]
            self._keep(zip((key for key, _ in part), self._encoder([text for _, text in part]), strict=True))
            if self._progress:
                self._progress(min(start + _CHUNK, len(missing)), len(missing))

    def _keep(self, pairs: Iterable[tuple[bytes, Vectors]]) -> None:
        fresh = dict(pairs)
        rows = np.zeros(len(fresh), dtype=_ROW)
        rows["key"] = np.array([np.void(key) for key in fresh], dtype="V16")
        rows["vector"] = np.stack(list(fresh.values()))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed: two trainings would write over one another
            file.seek(0, os.SEEK_END)
            file.seek(file.tell() // _ROW.itemsize * _ROW.itemsize)  # over a row cut short by a kill
            rows.tofile(file)
        self._rows.update(fresh)


def open_store(cache_dir: Path, embedder: str | None, threads: int, progress: Progress | None = None) -> EmbedStore:
    """The embeddings of this encoder kept under `cache_dir`; the encoder is loaded when a text is not among them."""
    path = store_path(cache_dir, embedder or DEFAULT_NAME)
    return EmbedStore(path, lambda: open_encoder(find_encoder(embedder), threads=threads), progress)
