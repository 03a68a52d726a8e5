"""Items of a Responses request as turns of Chat Completions: what is exact, and how a fault is named."""

import json
from typing import Any

import pytest

from backends.dialects.dialect import ErrorFacts
from backends.dialects.faults import RequestFault
from backends.dialects.openai_responses.dialect import OpenAIResponses
from backends.dialects.openai_responses.request import read_responses

USER = {"role": "user", "content": "q"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "r"}
THOUGHT = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
SUMMARY = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]}
SAID = {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]}


def turns_of(*asked: Any) -> Any:
    raw = read_responses(json.dumps({"model": "m", "input": list(asked)}).encode()).raw
    return json.loads(raw)["messages"]


def call(id: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([THOUGHT, SAID, CALL], [{"content": "a", "reasoning_content": "hm", "tool_calls": [call("c1")]}]),
        ([THOUGHT, CALL], [{"content": None, "reasoning_content": "hm", "tool_calls": [call("c1")]}]),
        ([CALL], [{"content": None, "tool_calls": [call("c1")]}]),
        ([CALL, {**CALL, "call_id": "c2"}], [{"content": None, "tool_calls": [call("c1"), call("c2")]}]),
        ([THOUGHT, SUMMARY, SAID], [{"content": "a", "reasoning_content": "hm\ns"}]),
        ([SAID, SAID], [{"content": "a"}, {"content": "a"}]),
        ([CALL, SAID], [{"content": None, "tool_calls": [call("c1")]}, {"content": "a"}]),
        ([SAID, THOUGHT], [{"content": "a"}, {"content": "", "reasoning_content": "hm"}]),
        ([{"role": "assistant", "content": []}], [{"content": ""}]),
        ([{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}],
         [{"content": [{"type": "refusal", "refusal": "no"}]}]),
    ],
)  # fmt: skip
def test_what_the_assistant_did_in_one_go_is_one_turn(asked: list[Any], told: list[Any]) -> None:
    assert turns_of(USER, *asked) == [USER, *({"role": "assistant", **turn} for turn in told)]


def test_images_in_results_are_the_users_after_all_results_and_words_stand_where_they_were() -> None:
    image = {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "low"}
    text = {"type": "input_text", "text": "t"}
    two = [{**OUTPUT, "output": [text, image]}, {**OUTPUT, "call_id": "c2", "output": [image]}]
    told = turns_of(USER, CALL, {**CALL, "call_id": "c2"}, *two, SAID)

    assert [turn["role"] for turn in told] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert [part["text"] for part in told[2]["content"]] == ["t", "[image 1]"]
    assert told[3]["content"] == "[image 2]"
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}
    assert told[4]["content"] == [picture, picture]
    assert turns_of(USER, CALL, two[0])[-1] == {"role": "user", "content": [picture]}


def test_a_call_after_a_result_begins_a_turn_of_its_own() -> None:
    told = turns_of(USER, CALL, OUTPUT, {**CALL, "call_id": "c2"}, {**OUTPUT, "call_id": "c2"})

    assert [turn["role"] for turn in told] == ["user", "assistant", "tool", "assistant", "tool"]


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"type": "input_file", "file_data": "d", "filename": "n"}, {"file_data": "d", "filename": "n"}),
        ({"type": "input_file", "file_id": "file-1"}, {"file_id": "file-1"}),
    ],
)
def test_files_go_along(part: Any, told: Any) -> None:
    assert turns_of({"role": "user", "content": [part]})[0]["content"] == [{"type": "file", "file": told}]


def test_a_file_of_nothing_is_named() -> None:
    with pytest.raises(RequestFault) as refused:
        turns_of({"role": "user", "content": [{"type": "input_file"}]})

    assert refused.value.param == "input[0].content[0].file_data"


@pytest.mark.parametrize(
    ("param", "own"),
    [
        ("messages", "input"),
        ("messages[3].content", "input"),
        ("max_tokens", "max_output_tokens"),
        ("response_format.json_schema", "text.format"),
        ("tools", "tools"),
        ("input[0].type", "input[0].type"),
        (None, None),
    ],
)
def test_an_error_names_the_field_as_the_client_wrote_it(param: str | None, own: str | None) -> None:
    body = OpenAIResponses().envelope(ErrorFacts(message="no", status=400, type="t", param=param))

    assert json.loads(body)["error"]["param"] == own


FUNCTION = {"type": "function", "name": "f"}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "previous_response_id": ({"previous_response_id": "resp_1"}, "previous_response_id"),
    "conversation": ({"conversation": {"id": "conv_1"}}, "conversation"),
    "background": ({"background": True}, "background"),
    "prompt": ({"prompt": {"id": "p"}}, "prompt"),
    "truncation": ({"truncation": "auto"}, "truncation"),
    "a custom tool": ({"tools": [{"type": "custom", "name": "c"}]}, "tools[0].type"),
    "a hosted choice": ({"tool_choice": {"type": "file_search"}}, "tool_choice.type"),
    "an allowed tool that is none": (
        {
            "tools": [FUNCTION],
            "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{**FUNCTION, "name": "x"}]},
        },
        "tool_choice.tools",
    ),
    "a file as a result": (
        {"input": [{**OUTPUT, "output": [{"type": "input_file", "file_data": "d"}]}]},
        "input[0].output[0].type",
    ),
    "a picture by its id": (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "u", "file_id": "f1"}]}]},
        "input[0].content[0].file_id",
    ),
    "a picture that the assistant said": (
        {"input": [{"role": "assistant", "content": [{"type": "input_image", "image_url": "u"}]}]},
        "input[0].content[0]",
    ),
    "an include": ({"include": ["file_search_call.results"]}, "include[0]"),
    "a summary of thought": ({"reasoning": {"summary": "detailed"}}, "reasoning.summary"),
    "padding": (
        {"stream": True, "stream_options": {"include_obfuscation": True}},
        "stream_options.include_obfuscation",
    ),
    "logprobs that nobody asked to see": ({"top_logprobs": 3}, "top_logprobs"),
    "a field of another dialect": ({"messages": []}, "messages"),
    "no input": ({"input": []}, "input"),
}


@pytest.mark.parametrize(("asked", "param"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_counterpart_is_refused_by_its_name(asked: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestFault) as refused:
        read_responses(json.dumps({"model": "m", "input": "hi", **asked}).encode())

    assert refused.value.param == param
    error = ErrorFacts(message=refused.value.message, status=400, type="t", param=param)
    assert json.loads(OpenAIResponses().envelope(error))["error"]["param"] == param
