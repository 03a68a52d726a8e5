"""One value of a good request replaced by any other: every dialect reads it, or refuses it in words; every server is asked in
JSON, or the request is refused in words."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties.mutated_json import MISFITS, Path, paths, with_misfit

from backends.dialects.anthropic_messages.dialect import AnthropicMessages
from backends.dialects.anthropic_messages.server.server import MessagesServer
from backends.dialects.dialect import Dialect
from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.dialect import OpenAIChat
from backends.dialects.openai_chat.forward import Habits
from backends.dialects.openai_chat.server import ChatServer
from backends.dialects.openai_completions.dialect import OpenAICompletions
from backends.dialects.openai_embeddings.dialect import OpenAIEmbeddings
from backends.dialects.openai_responses.dialect import OpenAIResponses
from backends.messages import ChatRequest
from backends.remote.dialect import ServerDialect
from backends.remote.prefix import prefix_blocks
from backends.remote.prompt import estimate_prompt

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer", "maximum": 3}}}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}
CHAT: Mapping[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": [{"type": "text", "text": "d"}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa", "detail": "auto"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,aa", "filename": "x"}},
            ],
        },
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}], "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "4"}]},
        {"role": "user", "content": "go"},
    ],
    **{"stream": True, "stream_options": {"include_usage": True}, "max_tokens": 5, "stop": ["a"], "temperature": 0.5},
    **{"top_p": 0.5, "top_k": 4, "n": 1, "logprobs": False, "logit_bias": {}, "presence_penalty": 0, "user": "u"},
    "tools": [{"type": "function", "function": {"name": "f", "strict": True, "parameters": SCHEMA}}],
    **{"tool_choice": {"type": "function", "function": {"name": "f"}}, "parallel_tool_calls": False},
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}},
    **{
        "service_tier": "auto",
        "reasoning_effort": "low",
        "modalities": ["text"],
        "store": False,
        "metadata": {"a": "b"},
    },
}
MESSAGES: Mapping[str, Any] = {
    **{"model": "m", "max_tokens": 5, "stream": True, "stop_sequences": ["a"], "temperature": 0.5, "top_k": 4},
    "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}},
                {"type": "image", "source": {"type": "url", "url": "http://x"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "text", "text": "x"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "a",
                    "content": [{"type": "text", "text": "4"}],
                    "is_error": True,
                },
                {"type": "text", "text": "go"},
            ],
        },
    ],
    "tools": [{"name": "f", "description": "d", "input_schema": SCHEMA, "strict": True}],
    "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
    **{"thinking": {"type": "adaptive"}, "metadata": {"user_id": "u"}, "service_tier": "auto"},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
}
RESPONSES: Mapping[str, Any] = {
    "model": "m",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": "u"}]},
        {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "x", "annotations": []}]},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "4"}]},
    ],
    **{"instructions": "s", "stream": True, "max_output_tokens": 5, "temperature": 0.5, "top_logprobs": 2},
    **{"include": ["message.output_text.logprobs"], "reasoning": {"effort": "low"}, "metadata": {"a": "b"}},
    "tools": [{"type": "function", "name": "f", "parameters": SCHEMA, "strict": True}],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}, "verbosity": "low"},
}
COMPLETIONS: Mapping[str, Any] = {
    **{"model": "m", "prompt": ["a", "b"], "stream": True, "stream_options": {"include_usage": True}, "max_tokens": 5},
    **{"n": 2, "echo": False, "logprobs": 2, "stop": ["a"], "logit_bias": {"50": -1}},
}
EMBEDDINGS: Mapping[str, Any] = {"model": "m", "input": [[1, 2], [3]], "encoding_format": "base64", "dimensions": 3}

ASKED: tuple[tuple[Dialect, Mapping[str, Any]], ...] = (
    (OpenAIChat(), CHAT),
    (AnthropicMessages(), MESSAGES),
    (OpenAIResponses(), RESPONSES),
    (OpenAICompletions(), COMPLETIONS),
    (OpenAIEmbeddings(), EMBEDDINGS),
)
SERVERS = (
    ChatServer("m", "theirs", Habits(limit_field="max_tokens", knows_developer=False)),
    ChatServer("m", "m", Habits()),
    MessagesServer("m", "theirs", 100),
)
SPOTS = [(number, at) for number, (_, body) in enumerate(ASKED) for at in paths(dict(body))]


def read(spot: tuple[int, Path], raw: str) -> ChatRequest | RequestFault:
    dialect, body = ASKED[spot[0]]
    try:
        return dialect.read(with_misfit(dict(body), spot[1], raw))
    except RequestFault as fault:
        return fault


def asked_of(server: ServerDialect, request: ChatRequest) -> bytes | RequestFault:
    try:
        return server.body(request)
    except RequestFault as fault:
        return fault


@given(st.sampled_from(SPOTS), st.sampled_from(MISFITS))
@example((0, ("reasoning_effort",)), "1e999")
@example((0, ("modalities",)), "1e999")
@example((0, ("stream_options",)), '{"a":1e999}')
def test_whatever_stands_in_a_field_the_request_is_understood_or_refused_in_words(
    spot: tuple[int, Path], raw: str
) -> None:
    request = read(spot, raw)

    if isinstance(request, RequestFault):
        assert request.message
        return
    assert estimate_prompt(request) >= 0
    prefix_blocks(request, "revision", b"salt")
    for server in SERVERS:
        asked = asked_of(server, request)
        assert asked.message if isinstance(asked, RequestFault) else json.loads(asked)["model"] in ("m", "theirs")


@pytest.mark.parametrize("number", range(len(ASKED)))
def test_what_is_replaced_here_is_good_to_begin_with(number: int) -> None:
    dialect, body = ASKED[number]

    assert dialect.read(json.dumps(body).encode()).model == "m"


FITTING = tuple(raw for raw in MISFITS if not {"\\", "N", "I"} & set(raw) and "999" not in raw and len(raw) < 100)


@given(st.sampled_from([spot for spot in SPOTS if spot[1]]), st.sampled_from(FITTING))
def test_a_refusal_names_the_field(spot: tuple[int, Path], raw: str) -> None:
    found = read(spot, raw)

    assert not isinstance(found, RequestFault) or found.param
