"""What an upstream's bytes say to a judge, and how what was asked for the judge is taken out again."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.openai_chat.heard import CallPiece, Heard, asking_logprobs, heard, without_logprobs
from backends.dialects.openai_chat.request import read_chat

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
SHAPE = st.dictionaries(st.sampled_from(["delta", "message", "logprobs", "finish_reason", "index"]), JSON, max_size=4)


def wire(choice: dict[str, Any]) -> bytes:
    return json.dumps({"id": "c", "choices": [choice]}, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"delta": {"content": "Hi"}}, Heard(text="Hi")),
        ({"message": {"content": "Hi"}, "finish_reason": "stop"}, Heard(text="Hi", finish="stop")),
        ({"delta": {"content": None, "refusal": "No."}}, Heard(declined=True)),
        ({"delta": {"content": [{"type": "thinking"}]}}, Heard()),
        (
            {"delta": {"tool_calls": [{"index": 1, "function": {"name": "f", "arguments": "{"}}]}},
            Heard(calls=(CallPiece(1, "f", "{"),)),
        ),
        (
            {"delta": {"content": "a"}, "logprobs": {"content": [{"logprob": -1.5}, {"logprob": None}]}},
            Heard(text="a", logprobs=(-1.5,)),
        ),
    ],
)
def test_what_is_said_is_heard(choice: dict[str, Any], says: Heard) -> None:
    assert heard(wire(choice)) == says


@given(SHAPE)
def test_whatever_comes_is_heard_or_says_nothing(choice: dict[str, Any]) -> None:
    assert isinstance(heard(wire(choice)), Heard)
    assert isinstance(heard(wire(choice)[:-1]), Heard)


@given(st.text(max_size=30), st.lists(st.floats(-9, 0), max_size=3))
def test_taking_probabilities_out_leaves_all_else_as_it_was(text: str, values: list[float]) -> None:
    told = {"content": [{"token": "t", "logprob": value} for value in values]}
    plain = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": None}

    assert json.loads(without_logprobs(wire({**plain, "logprobs": told}))) == json.loads(wire(plain))


def test_asking_for_probabilities_changes_nothing_else_of_the_body() -> None:
    raw = b'{"model":"m","temperature":1.0,"messages":[{"role":"user","content":"q"}],"seed":123456789012345678901}'

    asked = asking_logprobs(read_chat(raw), 48)

    assert asked.raw == raw[:-1] + b',"logprobs":true}'
    assert (asked.sampling.logprobs, asked.sampling.logprobs_at_most) == (True, 48)


def test_a_client_that_asked_itself_keeps_its_own_body() -> None:
    request = read_chat(b'{"model":"m","messages":[{"role":"user","content":"q"}],"logprobs":true,"top_logprobs":2}')

    assert asking_logprobs(request, 48) is request
