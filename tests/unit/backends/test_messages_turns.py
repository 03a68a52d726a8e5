"""Content blocks as turns of Chat Completions: what is exact, and what is refused by name."""

import json
from typing import Any

import pytest

from backends.dialects.anthropic_messages.request import read_messages, read_to_count
from backends.messages import ChatRequest

TEXT = {"type": "text", "text": "t"}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}


def read(*turns: Any, **fields: Any) -> ChatRequest:
    body = {"model": "m", "max_tokens": 9, "messages": list(turns), **fields}
    return read_messages(json.dumps(body).encode())


def sent(asked: ChatRequest) -> Any:
    return json.loads(asked.raw)["messages"]


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def test_results_become_turns_of_their_own_before_what_the_user_says() -> None:
    asked = read(user(TEXT), assistant(USE), user(RESULT, {**RESULT, "tool_use_id": "t2", "content": None}, TEXT))

    assert [(turn.role, turn.text, turn.tool_call_id) for turn in asked.messages[2:]] == [
        ("tool", "r", "t1"),
        ("tool", "", "t2"),
        ("user", "t", ""),
    ]


@pytest.mark.parametrize(
    ("content", "told"), [("no", "Error: no"), (None, "Error: "), ([TEXT], "Error: t"), ([], "Error: ")]
)
def test_a_result_that_is_an_error_says_so_in_words(content: Any, told: str) -> None:
    asked = read(user(TEXT), assistant(USE), user({**RESULT, "content": content, "is_error": True}))

    assert asked.messages[-1].text == told


def test_images_count_and_go_along() -> None:
    asked = read(user(TEXT, IMAGE))

    assert asked.messages[0].images == 1
    assert sent(asked)[0]["content"][1] == {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


PICTURE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


def test_images_in_results_are_the_users_after_all_results_and_words_stand_where_they_were() -> None:
    other = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
    first = {**RESULT, "content": [TEXT, IMAGE, other]}
    second = {**RESULT, "tool_use_id": "t2", "content": [IMAGE]}
    asked = read(user(TEXT), assistant(USE, {**USE, "id": "t2"}), user(first, second, TEXT))

    told = sent(asked)[2:]
    assert [turn["role"] for turn in told] == ["tool", "tool", "user"]
    assert [part["text"] for part in told[0]["content"]] == ["t", "[image 1]", "[image 2]"]
    assert told[1]["content"] == "[image 3]"
    data = {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}}
    assert told[2]["content"] == [PICTURE, data, PICTURE, {"type": "text", "text": "t"}]
    assert [turn.images for turn in asked.messages[2:]] == [0, 0, 3]


def test_a_failed_result_with_an_image_says_both() -> None:
    asked = read(user(TEXT), assistant(USE), user({**RESULT, "content": [IMAGE], "is_error": True}))
    assert sent(asked)[2:] == [
        {"role": "tool", "tool_call_id": "t1", "content": "Error: [image 1]"},
        {"role": "user", "content": [PICTURE]},
    ]


def test_what_only_another_model_can_read_is_left_out() -> None:
    hidden = {"type": "redacted_thinking", "data": "eA=="}
    assert sent(read(user(TEXT), assistant(hidden, TEXT), user(TEXT)))[1] == {"role": "assistant", "content": "t"}
    assert read(user(TEXT), assistant(hidden, TEXT), user(TEXT)).unmapped is None


def test_calls_without_words_have_no_content() -> None:
    assert sent(read(user(TEXT), assistant(USE), user(RESULT)))[1]["content"] is None


@pytest.mark.parametrize(
    ("turns", "at"),
    [
        ([user(TEXT, RESULT)], "messages[0].content[1]"),
        ([user(USE)], "messages[0].content[0]"),
        ([user(TEXT), assistant(RESULT), user(TEXT)], "messages[1].content[0]"),
        ([user(TEXT), assistant(IMAGE), user(TEXT)], "messages[1].content[0]"),
    ],
)
def test_a_block_where_it_has_no_place_is_named(turns: list[Any], at: str) -> None:
    asked = read(*turns)

    assert asked.unmapped is not None
    assert (asked.unmapped.param, asked.raw) == (at, b""), "no server of another dialect can be asked a part of it"


@pytest.mark.parametrize(
    ("choice", "neutral", "parallel"),
    [
        ({"type": "auto"}, "auto", True),
        ({"type": "any"}, "required", True),
        ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
        ({"type": "tool", "name": "f"}, "function", True),
        ({"type": "none"}, "none", True),
    ],
)
def test_whether_tools_must_be_called_survives(choice: Any, neutral: str, parallel: bool) -> None:
    asked = read(user(TEXT), tools=[{"name": "f", "input_schema": {"type": "object"}}], tool_choice=choice)

    assert (asked.tool_choice, asked.parallel_tool_calls) == (neutral, parallel)


def test_a_history_may_be_counted_whoever_spoke_last() -> None:
    body = {"model": "m", "messages": [user(TEXT), assistant(TEXT)]}

    assert len(read_to_count(json.dumps(body).encode()).messages) == 2
