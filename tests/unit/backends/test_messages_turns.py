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
