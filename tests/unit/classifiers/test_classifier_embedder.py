"""The embedder over a child process: what it promises while the child lives, dies, or never starts."""

import sys

import numpy as np
import pytest

from classifiers.embedding.embedder import MAX_WAITING, ChildEmbedder, EmbedderFailed

_CHILD = """
import sys
import numpy as np
from classifiers.embedding.child import encode_frames
def encode(texts):
    if "die" in texts:
        sys.exit(3)
    return np.array([[len(text), len(texts)] for text in texts], dtype=np.float32)
encode_frames(encode, sys.stdin.buffer, sys.stdout.buffer)
"""
WAIT_S = 60


@pytest.fixture
def embedder():
    opened = ChildEmbedder("unused", command=(sys.executable, "-c", _CHILD))
    yield opened
    opened.close()


def test_each_text_gets_its_own_row(embedder: ChildEmbedder):
    answers = [embedder.submit("x" * size) for size in range(1, 40)]

    assert [int(answer.result(WAIT_S)[0]) for answer in answers] == list(range(1, 40))


def test_texts_that_wait_together_leave_together_but_never_more_than_sixteen(embedder: ChildEmbedder):
    answers = [embedder.submit("x") for _ in range(MAX_WAITING // 2)]

    sizes = [int(answer.result(WAIT_S)[1]) for answer in answers]

    assert 1 < max(sizes) <= 16


def test_a_child_that_dies_fails_what_it_was_asked_and_is_not_restarted_in_a_loop(embedder: ChildEmbedder):
    assert embedder.submit("lives").result(WAIT_S) is not None

    with pytest.raises(EmbedderFailed, match="stopped"):
        embedder.submit("die").result(WAIT_S)
    with pytest.raises(EmbedderFailed, match="not started again yet"):
        embedder.submit("again").result(WAIT_S)


def test_a_child_whose_encoder_does_not_open_says_why():
    refusing = "import sys; from classifiers.embedding.child import refuse_frames; " + (
        "refuse_frames('no model there', sys.stdin.buffer, sys.stdout.buffer)"
    )
    opened = ChildEmbedder("unused", command=(sys.executable, "-c", refusing))

    with pytest.raises(EmbedderFailed, match="no model there"):
        opened.submit("x").result(WAIT_S)
    opened.close()


def test_a_program_that_is_not_there_is_a_failure_of_the_request_only():
    absent = ChildEmbedder("unused", command=("/nonexistent/python",))

    with pytest.raises(EmbedderFailed, match="nonexistent"):
        absent.submit("x").result(WAIT_S)
    absent.close()


def test_one_text_too_many_fails_at_once_and_the_others_are_answered(embedder: ChildEmbedder):
    answers = [embedder.submit("x") for _ in range(4 * MAX_WAITING)]

    failed = [answer for answer in answers if answer.exception(WAIT_S)]

    assert failed
    assert all("texts wait" in str(answer.exception()) for answer in failed)
    assert all(answer.result().shape == (2,) for answer in answers if answer not in failed)


def test_a_closed_embedder_says_so(embedder: ChildEmbedder):
    embedder.close()

    with pytest.raises(EmbedderFailed, match="closed"):
        embedder.submit("x").result(WAIT_S)


def test_rows_are_float32_vectors(embedder: ChildEmbedder):
    row = embedder.submit("four").result(WAIT_S)

    assert row.dtype == np.float32
    assert row.ndim == 1
