"""One process for all who use the same encoder: opened for the first of them, closed with the last. It knows no artefact."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock

from classifiers.embedding.embedder import ChildEmbedder, Embedder
from classifiers.embedding.encoder import Vectors, identity_of


class SharedEmbedders:
    """Embedders by their encoder. A folder whose files changed is another encoder. Safe between threads."""

    def __init__(self, opening: Callable[[str], Embedder] = ChildEmbedder) -> None:
        self._opening = opening
        self._open: dict[str, tuple[Embedder, int]] = {}
        self._lock = Lock()

    def open(self, source: str) -> Embedder:
        """For one more who uses it, and who closes what it got; `source` as `find_encoder` has it."""
        key = identity_of(source)
        with self._lock:
            embedder, users = self._open.get(key) or (self._opening(source), 0)
            self._open[key] = embedder, users + 1
        return _Share(embedder, lambda: self._let_go(key))

    def _let_go(self, key: str) -> None:
        with self._lock:
            embedder, users = self._open.pop(key)
            if users > 1:
                self._open[key] = embedder, users - 1
                return
        embedder.close()


class _Share:
    """An Embedder as one of its users has it. What waits when that one closes it is answered while there are others."""

    def __init__(self, embedder: Embedder, let_go: Callable[[], None]) -> None:
        self._embedder = embedder
        self._let_go: Callable[[], None] | None = let_go

    def submit(self, text: str) -> "Future[Vectors]":
        return self._embedder.submit(text)

    def close(self) -> None:
        let_go, self._let_go = self._let_go, None
        if let_go is not None:
            let_go()
