"""What is measured of a turn is what a gateway would say of it: the same readings."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from conftest import WIDTH, vector

from classifiers.artefact import Artefact
from classifiers.embedding.encoder import Vectors
from classifiers.embedding.store import EmbedStore
from classifiers.estimator import Estimator
from classifiers.features.lexical import lexical, lexical_of
from classifiers.features.text import cut, cut_of
from classifiers.measuring.score import chances
from classifiers.question import Question
from classifiers.reading.readings import readings

CUT_AGAIN = (
    "What visa is needed for Japan? Design a distributed transaction protocol that survives coordinator failure, prove its "
    "safety and implement it in Rust."
)
"""Of its second reading even more would be taken for an appeal, were that read like a turn."""


def kept(texts: Sequence[str]) -> Vectors:
    return np.stack([vector(text) for text in texts])


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
