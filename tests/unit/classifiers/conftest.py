"""A small blend trained on invented rows, and an embedder whose answers the test controls."""

from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from classifiers import artefact
from classifiers.artefact import Artefact, Manifest
from classifiers.embedding.embedder import EmbedderFailed
from classifiers.features.lexical import NAMES
from classifiers.features.text import digest
from classifiers.heads.blend import Blend
from classifiers.heads.inputs import PAIR, Inputs, Targets, read_inputs
from classifiers.training.learn import learn

WIDTH = 384
EASY, HARD = "say hello to everyone", "prove the theorem by induction"


def vector(text: str) -> np.ndarray:
    """A unit vector that depends on the text alone."""
    row = np.random.default_rng(int.from_bytes(digest(text)[:4])).standard_normal(WIDTH).astype(np.float32)
    return row / np.linalg.norm(row)


class HeldEmbedder:
    """Answers at once, or keeps its futures open until `release`."""

    def __init__(self, *, holds: bool = False) -> None:
        self.holds = holds
        self.asked: list[str] = []
        self.open: list[tuple[str, Future[np.ndarray]]] = []
        self.closed = False

    def submit(self, text: str) -> "Future[np.ndarray]":
        self.asked.append(text)
        answer: Future[np.ndarray] = Future()
        self.open.append((text, answer))
        if not self.holds:
            self.release()
        return answer

    def release(self) -> None:
        for text, answer in self.open:
            answer.set_result(vector(text))
        self.open.clear()

    def fail(self, error: Exception) -> None:
        for _, answer in self.open:
            answer.set_exception(error)
        self.open.clear()

    def close(self) -> None:
        self.closed = True


@pytest.fixture(scope="session")
def rows() -> tuple[Inputs, Targets]:
    """240 invented prompts: the small model fails on those that ask for a proof, the large one seldom fails."""
    draw = np.random.default_rng(7)
    hard = draw.random(240) < 0.5
    texts = [f"{HARD if is_hard else EASY} number {at}" for at, is_hard in enumerate(hard)]
    quality = np.stack([draw.random(240) > np.where(hard, 0.8, 0.1), draw.random(240) > 0.1], axis=1).astype(float)
    return read_inputs(texts, np.stack([vector(text) for text in texts])), Targets(quality, np.ones(240))


@pytest.fixture(scope="session")
def blend(rows: tuple[Inputs, Targets]) -> Blend:
    return learn(*rows).blend


@pytest.fixture(scope="session")
def saved(blend: Blend, rows: tuple[Inputs, Targets], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artefact")
    manifest = Manifest(
        format=artefact.FORMAT,
        name="invented",
        trained_on="2026-01-01",
        encoder="invented",
        width=WIDTH,
        features=NAMES,
        heads=PAIR,
        tensors_sha256="",
        card={"anchors": "none"},
        metrics={"apgr": 0.5},
        libraries={},
    )
    artefact.save(folder, manifest, blend, blend.p_good(rows[0])[:50], vector(artefact.PROBE_TEXT))
    return folder


@pytest.fixture(scope="session")
def trained(saved: Path) -> Artefact:
    return artefact.load(saved)


@pytest.fixture
def embedder() -> type[HeldEmbedder]:
    return HeldEmbedder


@pytest.fixture
def refusing() -> HeldEmbedder:
    """An embedder that has too much to do."""
    return _Refusing()


class _Refusing(HeldEmbedder):
    def submit(self, text: str) -> "Future[np.ndarray]":
        answer: Future[np.ndarray] = Future()
        answer.set_exception(EmbedderFailed("64 texts wait for the embedder"))
        return answer
