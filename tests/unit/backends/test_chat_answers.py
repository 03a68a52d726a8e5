"""Answers written from neutral events: the whole body, the stream, and that the two tell the same."""

import json
from typing import Any

import pytest
from remote_calls import chat

from backends.dialects.openai_chat.response import Completion, error_body
from backends.dialects.openai_chat.stream import DONE, Renderer
from backends.messages import ChatRequest, Delta, Event, Finish, TokenLogprob, Usage, Whole, Wire
from backends.sse import Decoder

HELLO = TokenLogprob("Hello", b"Hello", -0.1, (TokenLogprob("Hello", b"Hello", -0.1), TokenLogprob("Hi", b"Hi", -2.0)))
HALF = TokenLogprob("\ufffd", b"\xe5\x8c", -0.2)
EVENTS: list[Event] = [
    Delta("Hello", 0, (HELLO,)),
    Delta("", 0, (HALF,)),
    Delta("!", 0, (TokenLogprob("!", b"!", -0.3),)),
    Finish("stop"),
    Usage(7, 3, 4),
]


def whole_of(request: ChatRequest, events: list[Event]) -> Any:
    completion = Completion(request, "small", "chatcmpl-1", 5)
    for event in events:
        completion.add(event)
    return json.loads(completion.body())


def stream_of(request: ChatRequest, events: list[Event]) -> bytes:
    renderer = Renderer(request, "small", "chatcmpl-1", 5)
    return b"".join(map(renderer.render, events)) + renderer.end()


def chunks_of(stream: bytes) -> list[Any]:
    return [json.loads(event.data) for event in Decoder().feed(stream) if event.data != b"[DONE]"]


def test_a_whole_answer_has_every_field_that_sdks_read() -> None:
    answer = whole_of(chat(), EVENTS)

    assert {key: answer[key] for key in ("id", "object", "created", "model")} == {
        **{"id": "chatcmpl-1", "object": "chat.completion"},
        **{"created": 5, "model": "small"},
    }
    assert answer["system_fingerprint"].startswith("fp_")
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hello!", "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert answer["usage"] == {
        **{"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        "prompt_tokens_details": {"cached_tokens": 4},
    }


def test_choices_are_kept_apart_and_in_order() -> None:
    answer = whole_of(chat(n=2), [Delta("b", 1), Delta("a"), Finish("length", 1), Finish("stop")])

    told = [(c["index"], c["message"]["content"], c["finish_reason"]) for c in answer["choices"]]
    assert told == [(0, "a", "stop"), (1, "b", "length")]


def test_a_whole_answer_of_an_upstream_stands_for_itself() -> None:
    completion = Completion(chat(), "small", "x", 5)
    completion.add(Whole(b'{"a":1}'))
    completion.add(Usage(1, 2))

    assert completion.body() == b'{"a":1}'


def test_logprobs_have_the_chat_shape_and_join_to_the_same_streamed() -> None:
    request = chat(logprobs=True, top_logprobs=2, stream=True)

    content = whole_of(request, EVENTS)["choices"][0]["logprobs"]["content"]

    assert content[0] == {
        **{"token": "Hello", "logprob": -0.1, "bytes": [72, 101, 108, 108, 111]},
        "top_logprobs": [
            {"token": "Hello", "logprob": -0.1, "bytes": [72, 101, 108, 108, 111]},
            {"token": "Hi", "logprob": -2.0, "bytes": [72, 105]},
        ],
    }
    streamed = [c["choices"][0]["logprobs"] for c in chunks_of(stream_of(request, EVENTS))]
    assert [one for logprobs in streamed if logprobs for one in logprobs["content"]] == content


def test_logprobs_that_the_client_did_not_ask_for_are_not_shown() -> None:
    stream = stream_of(chat(stream=True), EVENTS)

    assert [c["choices"][0]["logprobs"] for c in chunks_of(stream)] == [None, None, None]
    assert whole_of(chat(), EVENTS)["choices"][0]["logprobs"] is None


def test_every_chunk_of_a_stream_has_the_same_head() -> None:
    heads = [
        {key: chunk[key] for key in ("id", "object", "created", "model", "system_fingerprint")}
        for chunk in chunks_of(stream_of(chat(stream=True), EVENTS))
    ]

    assert heads == [heads[0]] * 3
    assert (heads[0]["object"], heads[0]["model"]) == ("chat.completion.chunk", "small")


def test_usage_is_one_last_chunk_for_those_who_asked_and_none_for_others() -> None:
    asked = chunks_of(stream_of(chat(stream=True, stream_options={"include_usage": True}), EVENTS))
    not_asked = chunks_of(stream_of(chat(stream=True), EVENTS))

    assert (asked[-1]["choices"], asked[-1]["usage"]["total_tokens"]) == ([], 10)
    assert [chunk["usage"] for chunk in asked[:-1]] == [None] * 3
    assert all("usage" not in chunk and chunk["choices"] for chunk in not_asked)


def test_usage_beside_wire_events_is_for_the_books_alone() -> None:
    request = chat(stream=True, stream_options={"include_usage": True})

    assert stream_of(request, [Wire(b'{"choices":[]}'), Usage(1, 2)]) == b'data: {"choices":[]}\n\n' + DONE


def test_an_empty_answer_still_has_a_role_and_a_finish() -> None:
    [chunk] = chunks_of(stream_of(chat(stream=True), [Finish("stop")]))

    assert chunk["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert chunk["choices"][0]["finish_reason"] == "stop"


def test_the_stop_string_that_was_met_stands_beside_the_finish_and_nothing_where_none_was() -> None:
    met, not_met = Finish("stop", 0, "END"), Finish("stop")

    [whole], [chunk] = whole_of(chat(), [met])["choices"], chunks_of(stream_of(chat(stream=True), [met]))[0]["choices"]
    [without] = whole_of(chat(), [not_met])["choices"]
    [bare] = chunks_of(stream_of(chat(stream=True), [not_met]))[0]["choices"]

    assert (whole["stop_reason"], chunk["stop_reason"]) == ("END", "END")
    assert "stop_reason" not in {**without, **bare}


def test_a_choice_finishes_once() -> None:
    chunks = chunks_of(stream_of(chat(stream=True), [Delta("a"), Finish("length"), Finish("stop")]))

    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, "length"]


@pytest.mark.parametrize("first", ["end", "error"])
def test_a_stream_ends_once_whatever_is_asked_of_it(first: str) -> None:
    renderer = Renderer(chat(stream=True), "small", "x", 5)
    body = error_body("boom", type="upstream_error", code="upstream_disconnected")

    written = renderer.end() if first == "end" else renderer.error(body)
    written += renderer.error(body) + renderer.end()

    assert written == (DONE if first == "end" else b"data: " + body + b"\n\n" + DONE)


def test_a_whole_answer_has_no_place_in_a_stream() -> None:
    with pytest.raises(ValueError, match="no place in a stream"):
        Renderer(chat(stream=True), "small", "x", 5).render(Whole(b"{}"))


def test_an_error_has_strings_and_nulls_and_nothing_else() -> None:
    assert json.loads(error_body("no", type="t", code="c")) == {
        "error": {"message": "no", "type": "t", "param": None, "code": "c"}
    }
