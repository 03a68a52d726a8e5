"""What is measured of a turn is what a gateway would say of it: the same readings, the same estimate or none."""

from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from conftest import WIDTH, vector
from junk_appeals import AROUND, BEFORE, BEHIND, EASY, filled

from classifiers import artefact
from classifiers.artefact import Artefact
from classifiers.embedding.encoder import Vectors
from classifiers.embedding.store import EmbedStore
from classifiers.estimator import Estimator
from classifiers.features.lexical import lexical, lexical_of
from classifiers.features.text import cut, cut_of
from classifiers.measuring.score import Served, as_served, chances, known_inputs
from classifiers.question import Question
from classifiers.reading.readings import readings
from classifiers.unfamiliar.doubt import coverage

CUT_AGAIN = (
    "What visa is needed for Japan? Design a distributed transaction protocol that survives coordinator failure, prove its "
    "safety and implement it in Rust."
)
"""Of its second reading even more would be taken for an appeal, were that read like a turn."""

JUNK = [filled(mould, EASY[at % len(EASY)]) for at, mould in enumerate((*BEHIND, *BEFORE, *AROUND))]
ODD = ["∑∫∂ ⊢⊨ ⊗⊕ ◊◊◊ ⌘⌥⇧", "xkq vvzj qqpt wrlm zzkx bnvq", "こんにちは、元気ですか。"]


def kept(texts: Sequence[str]) -> Vectors:
    return np.stack([vector(text) for text in texts])


class Familiar:
    """An encoder to which every text is what a known one is."""

    def __init__(self, one: Vectors) -> None:
        self._one = one

    def submit(self, text: str) -> "Future[Vectors]":
        answer: Future[Vectors] = Future()
        answer.set_result(self._one)
        return answer

    def close(self) -> None:
        pass

    def __call__(self, texts: Sequence[str]) -> Vectors:
        return np.tile(self._one, (len(texts), 1))


@pytest.fixture(scope="module")
def shipped() -> Artefact:
    return artefact.load(artefact.SHIPPED)


def measured(opened: Artefact, texts: Sequence[str], folder: Path) -> Served:
    one = np.asarray(opened.probe, np.float32)
    store = EmbedStore(folder / "some.rows", lambda: Familiar(one))
    inputs = known_inputs(opened, texts, store)
    return as_served(opened, texts, store, inputs, opened.blend.p_good(inputs))


async def test_a_second_reading_is_not_cut_again(trained: Artefact, embedder, tmp_path: Path):
    second = readings(CUT_AGAIN)[1]
    served = await Estimator(trained, embedder()).estimate(Question((CUT_AGAIN,)), 5)

    found = chances(trained, [CUT_AGAIN], EmbedStore(tmp_path / "some.rows", lambda: kept))

    assert cut(second) != cut_of(second)
    assert lexical(second).tobytes() != lexical_of(second).tobytes()
    assert np.allclose(found[0], list(served.p_good.values()), atol=1e-4)


def test_texts_without_appeals_are_kept_as_they_are(tmp_path: Path):
    store = EmbedStore(tmp_path / "some.rows", lambda: kept)
    second = readings(CUT_AGAIN)[1]

    assert store.of_asked([second]).tolist() == [vector(cut_of(second)).tolist()]
    assert store.vectors([second]).tolist() == [vector(cut(second)).tolist()]
    assert store.of_asked([]).shape == (0, WIDTH)


async def test_what_is_covered_is_what_would_be_estimated(shipped: Artefact, tmp_path: Path):
    texts = [*JUNK, *ODD]
    served = [
        await Estimator(shipped, Familiar(np.asarray(shipped.probe, np.float32))).estimate(Question((text,)), 5)
        for text in texts
    ]

    found = measured(shipped, texts, tmp_path)

    assert coverage(texts, found.doubts) == np.mean([not one.abstains for one in served])
    assert 0 < coverage(texts, found.doubts) < 1
    for one, row in zip(served, found.p_good, strict=True):
        assert one.abstains or np.allclose(row, list(one.p_good.values()), atol=1e-4)
