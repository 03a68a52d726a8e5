"""Embeddings kept on disk between training runs, one file per encoder and width. Training only; a gateway never opens it."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from classifiers.embedding.encoder import Encoder, Vectors, encoder_name, find_encoder, identity_of, open_encoder
from classifiers.features.text import cut, cut_of, digest

_CHUNK = 512

Progress = Callable[[int, int], None]


def store_path(folder: Path, encoder: str) -> Path:
    """Where what this encoder made is kept, its width left out; another encoder, another file."""
    return folder / f"embeddings-{hashlib.sha256(encoder.encode()).hexdigest()[:12]}.rows"


def of_width(path: Path, width: int) -> Path:
    """The file itself: an encoder that was put in the place of another must not be read with that one's vectors.

    >>> of_width(Path("some.rows"), 384).name
    'some.384.rows'
    """
    return path.with_suffix(f".{width}{path.suffix}")


class EmbedStore:
    """An append-only file of (digest of the cut text, vector). A row that was cut short by a kill is dropped.

    How wide vectors are is asked of the encoder, once there is something to embed; until then of the file's name.
    """

    def __init__(self, path: Path, encoder: Callable[[], Encoder], progress: Progress | None = None) -> None:
        """`path` as `store_path` has it."""
        self._path = path
        self._open = encoder
        self._encoder: Encoder | None = None
        self._progress = progress
        self._rows: dict[bytes, Vectors] = {}
        self._width = 0
        widths = _widths(path)
        if len(widths) == 1:
            self._read(widths[0])

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row per text, float32 [n, width]; texts not seen before are embedded, shortest first, and kept.

        [0, 0] of no texts as long as nothing was embedded.
        """
        return self._vectors([cut(text) for text in texts])

    def of_asked(self, asked: Sequence[str]) -> Vectors:
        """The same of texts whose appeals are gone already."""
        return self._vectors([cut_of(text) for text in asked])

    def _vectors(self, cuts: Sequence[str]) -> Vectors:
        self._embed({digest(text): text for text in cuts})
        if not cuts:
            return np.zeros((0, self._width), np.float32)
        return np.stack([self._rows[digest(text)] for text in cuts])

    def _embed(self, named: Mapping[bytes, str]) -> None:
        total = 0
        while missing := sorted((key for key in named if key not in self._rows), key=lambda key: len(named[key])):
            total = total or len(missing)
            self._encoder = self._encoder or self._open()
            part = missing[:_CHUNK]
            self._keep(part, self._encoder([named[key] for key in part]))
            if self._progress:
                self._progress(total - len(missing) + len(part), total)

    def _read(self, width: int) -> None:
        self._width = width
        path, row = of_width(self._path, width), _row(width)
        if path.is_file():
            rows = np.fromfile(path, dtype=row, count=path.stat().st_size // row.itemsize)
            self._rows = dict(zip((key.tobytes() for key in rows["key"]), rows["vector"], strict=True))
        else:
            self._rows = {}

    def _keep(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        if vectors.shape[1] != self._width:
            self._read(vectors.shape[1])
        fresh = dict(zip(keys, vectors, strict=True))
        rows = np.zeros(len(fresh), dtype=_row(self._width))
        rows["key"] = np.array([np.void(key) for key in fresh], dtype="V16")
        rows["vector"] = np.stack(list(fresh.values()))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file_at = of_width(self._path, self._width)
        with os.fdopen(os.open(file_at, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed: two trainings would write over one another
            file.seek(0, os.SEEK_END)
            file.seek(file.tell() // rows.itemsize * rows.itemsize)  # over a row cut short by a kill
            rows.tofile(file)
        self._rows.update(fresh)


def _row(width: int) -> np.dtype[np.void]:
    return np.dtype([("key", "V16"), ("vector", "<f4", (width,))])


def _widths(path: Path) -> list[int]:
    found = path.parent.glob(f"{path.stem}.*{path.suffix}")
    return [int(width) for file in found if (width := file.stem.rpartition(".")[2]).isdecimal()]


def open_store(cache_dir: Path, embedder: str | None, threads: int, progress: Progress | None = None) -> EmbedStore:
    """The embeddings of this encoder kept under `cache_dir`; the encoder is loaded when a text is not among them."""
    path = store_path(cache_dir, identity_of(encoder_name(embedder)))
    return EmbedStore(path, lambda: open_encoder(find_encoder(embedder), threads=threads), progress)
