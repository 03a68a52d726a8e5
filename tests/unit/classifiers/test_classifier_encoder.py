"""The quick encoder is the library's encoder up to rounding, or it is the library's encoder."""

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

from classifiers.artefact import PROBE_TEXT
from classifiers.embedding.encoder import Encoder, EncoderMissing, find_encoder, open_encoder, open_quick_encoder
from classifiers.embedding.forward import NotQuickened, quicken
from classifiers.outcomes import pool

LONG = "The train leaves at nine, and another one comes back two hours later; where do they meet? " * 8
TEXTS = (*pool.read_anchors().texts[2::3], PROBE_TEXT, LONG)


@pytest.fixture(scope="module")
def source() -> str:
    try:
        return find_encoder(None)
    except EncoderMissing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def quick(source: str) -> Encoder:
    return open_quick_encoder(source, threads=1)


@pytest.fixture(scope="module")
def library(source: str) -> Encoder:
    return open_encoder(source, threads=1)


def test_the_quick_encoder_says_what_the_library_says(quick: Encoder, library: Encoder):
    alike = (quick(TEXTS) * library(TEXTS)).sum(axis=1)

    assert alike.mean() > 0.995
    assert alike.min() > 0.99


def test_its_answers_are_float32_unit_vectors(quick: Encoder):
    rows = quick(TEXTS)

    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_company(quick: Encoder):
    assert np.array_equal(quick(TEXTS[-1:]), quick(TEXTS)[-1:])


def test_it_is_not_the_library_in_disguise(quick: Encoder, library: Encoder):
    assert not np.allclose(quick(TEXTS), library(TEXTS), atol=1e-4)


@pytest.mark.parametrize("text", ["", " ", "\U0001f600", "x" * 5000, "a " * 5000])
def test_odd_texts_are_cut_and_read_as_the_library_cuts_and_reads_them(quick: Encoder, library: Encoder, text: str):
    assert float((quick([text]) * library([text])).sum()) > 0.97


def _model(source: str, **settings: object):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(source, device="cpu", local_files_only=True)
    for name, value in settings.items():
        setattr(model[0].auto_model.config, name, value)
    return model


def test_an_encoder_of_another_make_is_refused_by_name(source: str):
    with pytest.raises(NotQuickened, match="BertModel with relu"):
        quicken(_model(source, hidden_act="relu"), ["a text"])


def test_without_a_normalised_mean_it_is_refused(source: str):
    model = _model(source)
    del model[2]

    with pytest.raises(NotQuickened, match="Transformer"):
        quicken(model, ["a text"])


def test_an_encoder_it_does_not_know_is_served_by_the_library(source: str, library: Encoder, tmp_path):
    other = _model(source, hidden_act="relu")
    other.save(str(tmp_path))

    served, plain = open_quick_encoder(str(tmp_path), threads=1), open_encoder(str(tmp_path), threads=1)

    assert np.array_equal(served(["a text"]), plain(["a text"]))
    assert not np.allclose(served(["a text"]), library(["a text"]), atol=1e-3)


@pytest.mark.parametrize("named", ["/no/such/folder", "./nor-this"])
def test_a_directory_that_is_not_there_is_no_hub_model(named: str):
    with pytest.raises(EncoderMissing, match="is no directory"):
        find_encoder(named)
