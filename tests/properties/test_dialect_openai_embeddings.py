"""Embeddings: whatever the bytes are there is a request or a fault, and what passes through is what came."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.reported import ReportedError
from backends.dialects.openai_chat.whole import AnswerError
from backends.dialects.openai_embeddings.forward import correct_vectors, upstream_body
from backends.dialects.openai_embeddings.request import read_embeddings
from backends.messages import ChatRequest

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
ids = st.lists(st.integers(0, 1 << 40), min_size=1, max_size=5)
inputs = st.one_of(texts, st.lists(texts, min_size=1, max_size=4), ids, st.lists(ids, min_size=1, max_size=4))
anything: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
others = st.dictionaries(texts.filter(lambda name: name not in ("model", "input", "stream")), anything, max_size=4)


def body_of(asked: Any, more: dict[str, Any], spaces: bool) -> bytes:
    separators = (" , ", " : ") if spaces else (",", ":")
    return json.dumps({**more, "model": "m", "input": asked}, separators=separators).encode()


@given(inputs, others, st.booleans())
def test_each_input_is_a_message_and_every_other_field_passes(asked: Any, more: dict[str, Any], spaces: bool) -> None:
    raw = body_of(asked, more, spaces)

    request = read_embeddings(raw)

    one = isinstance(asked, str) or isinstance(asked[0], int)
    assert len(request.messages) == (1 if one else len(asked))
    assert upstream_body(request, "m") == raw
    assert json.loads(upstream_body(request, "theirs")) == {**json.loads(raw), "model": "theirs"}


@given(st.binary(max_size=60) | anything.map(lambda value: json.dumps(value).encode()))
def test_whatever_the_bytes_are_there_is_a_request_or_a_fault(raw: bytes) -> None:
    request, fault = read_or_fault(raw)

    assert (fault is None and request is not None and request.messages) or (fault is not None and fault.message)


@given(anything)
def test_whatever_the_input_is_a_fault_names_it(asked: Any) -> None:
    _, fault = read_or_fault(body_of(asked, {}, False))

    assert fault is None or fault.param == "input"


def read_or_fault(raw: bytes) -> tuple[ChatRequest | None, RequestFault | None]:
    try:
        return read_embeddings(raw), None
    except RequestFault as fault:
        return None, fault


@given(st.integers(1, 5), st.lists(anything, max_size=6), others)
def test_an_answer_passes_with_one_vector_for_each_input_and_not_otherwise(
    count: int, vectors: list[Any], more: dict[str, Any]
) -> None:
    request = read_embeddings(json.dumps({"model": "m", "input": ["a"] * count}).encode())
    answer = {**{key: value for key, value in more.items() if key not in ("error", "usage", "data")}, "data": vectors}

    if len(vectors) != count:
        with pytest.raises(AnswerError, match=rf"{len(vectors)} embeddings for {count} inputs"):
            correct_vectors(msgspec.json.encode(answer), request, "ours")
    else:
        body, usage = correct_vectors(msgspec.json.encode(answer), request, "ours")
        assert json.loads(body) == {**json.loads(msgspec.json.encode(answer)), "model": "ours"}
        assert usage is None


@given(st.binary(max_size=60) | anything.map(lambda value: json.dumps(value).encode()))
def test_whatever_an_upstream_answers_there_is_an_answer_or_an_error(raw: bytes) -> None:
    request = read_embeddings(b'{"model":"m","input":"a"}')

    try:
        body, _ = correct_vectors(raw, request, "ours")
        assert json.loads(body)["model"] == "ours"
    except (AnswerError, ReportedError):
        pass
