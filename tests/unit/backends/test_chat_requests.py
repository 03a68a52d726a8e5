"""Bodies of Chat Completions: what is read, what is refused and by which name, what goes upstream."""

import json
from typing import Any

import msgspec
import pytest
from remote_calls import PLAIN, chat

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.forward import Habits, upstream_body
from backends.dialects.openai_chat.request import read_chat
from backends.remote.prefix import canonical, prefix_blocks
from backends.remote.prompt import estimate_prompt


def fault_of(raw: bytes) -> RequestFault:
    with pytest.raises(RequestFault) as fault:
        read_chat(raw)
    assert fault.value.message
    return fault.value


def user(content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}]}


CALL = {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("raw", "param"),
    [
        (b'{"model": "m"}', "messages"),
        (b'{"model": "m", "messages": [', None),
        (b"[1,2]", None),
        (b"", None),
        (b"null", None),
        (b"\xff\xfe", None),
        (b'{"q": ' + b"[" * 200_000, None),
        (b'{"model": "m", "messages": [{"role": "user", "content": "\\ud800"}]}', None),
        (b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "x": "\xff"}', None),
    ],
)
def test_a_broken_body_is_refused(raw: bytes, param: str | None) -> None:
    assert fault_of(raw).param == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 5}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "banana", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "tool", "content": "4"}]}, "messages[0].tool_call_id"),
        (user([{"type": "text"}]), "messages[0].content[0].text"),
        (user([{"text": "x"}]), "messages[0].content[0].type"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]},
            "messages[0].tool_calls[0].function.name",
        ),
        ({"messages": [{"role": "assistant", "tool_calls": [{**CALL, "id": {}}]}]}, "messages[0].tool_calls[0].id"),
        ({"temperature": 2.5}, "temperature"),
        ({"temperature": "warm"}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"n": 0}, "n"),
        ({"n": 1000}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": -1}, "max_completion_tokens"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
        ({"seed": 1.5}, "seed"),
        ({"presence_penalty": 3}, "presence_penalty"),
        ({"logit_bias": {"x": 1}}, "logit_bias"),
        ({"logit_bias": {"5": 101}}, "logit_bias"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"tools": [{"type": "function"}]}, "tools[0].function.name"),
        ({"tools": [{}]}, "tools[0].type"),
        ({"response_format": {}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    ],
)
def test_a_fault_names_the_path_of_its_field(fields: dict[str, Any], param: str) -> None:
    assert fault_of(json.dumps({**PLAIN, **fields}).encode()).param == param


def test_every_optional_field_may_be_null() -> None:
    names = "stream stream_options max_tokens max_completion_tokens n stop temperature top_p top_k min_p seed logprobs"
    names += " presence_penalty frequency_penalty repetition_penalty logit_bias top_logprobs tools response_format"

    assert chat(**dict.fromkeys(names.split())).sampling == chat().sampling


def test_what_a_decision_reads_is_read() -> None:
    request = chat(
        max_tokens=9, max_completion_tokens=3, stop="x", n=2, temperature=0, seed=7, logprobs=True, top_logprobs=2,
        logit_bias={"5": -100}, tools=[{"type": "function", "function": {"name": "f"}}],
    )  # fmt: skip

    assert (request.max_tokens, request.stop, request.n) == (3, ("x",), 2)
    assert (request.sampling.temperature, request.sampling.seed, request.sampling.top_logprobs) == (0, 7, 2)
    assert request.left_open == {"top_p"}
    assert request.sampling.logit_bias == {5: -100}
    assert request.tools[0]["function"]["name"] == "f"


def test_parts_are_counted_by_kind_and_their_text_is_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    parts += [{"type": "input_audio", "input_audio": {}}, {"type": "file", "file": {}}, {"type": "text", "text": "b"}]

    message = chat(**user(parts)).messages[0]

    assert (message.text, message.images, message.audio, message.files) == ("a\nb", 1, 1, 1)


def test_a_list_of_one_text_part_is_the_same_message_as_the_string() -> None:
    plain, parts = chat(**user("What is 2+2?")), chat(**user([{"type": "text", "text": "What is 2+2?"}]))

    assert plain.messages == parts.messages
    assert canonical(plain) == canonical(parts)


@pytest.mark.parametrize("content", [{"content": None}, {}, {"content": ""}, {"content": []}])
def test_all_ways_to_say_no_content_beside_tool_calls_are_one(content: dict[str, Any]) -> None:
    def history(**more: Any) -> list[dict[str, Any]]:
        assistant = {"role": "assistant", "tool_calls": [CALL], **more}
        return [*PLAIN["messages"], assistant, {"role": "tool", "tool_call_id": "call_a", "content": "4"}]

    assert chat(messages=history(**content)).messages == chat(messages=history(content=None)).messages


def test_an_empty_list_of_tool_calls_is_none() -> None:
    with_list, without = ({"role": "assistant", "content": "ok", **more} for more in ({"tool_calls": []}, {}))

    assert chat(messages=[with_list]).messages == chat(messages=[without]).messages


def upstream(fields: dict[str, Any], serves: str = "m", **habits: Any) -> Any:
    return json.loads(upstream_body(chat(**fields), serves, Habits(**habits)))


@pytest.mark.parametrize(
    "given", [{"max_completion_tokens": 3}, {"max_tokens": 3}, {"max_tokens": 9, "max_completion_tokens": 3}]
)
@pytest.mark.parametrize("field", ["", "max_tokens", "max_completion_tokens"])
def test_exactly_one_limit_goes_upstream(given: dict[str, int], field: Any) -> None:
    sent = upstream(given, limit_field=field)

    limits = {name: sent[name] for name in ("max_tokens", "max_completion_tokens") if name in sent}
    assert limits == {field or list(given)[-1]: 3}


def test_developer_is_passed_on_where_known_and_system_where_not() -> None:
    fields = {"messages": [{"role": "developer", "content": "Be brief.", "x": 1.0}, {"role": "user", "content": "hi"}]}

    assert upstream(fields)["messages"] == fields["messages"]
    roles = [turn["role"] for turn in upstream(fields, knows_developer=False)["messages"]]
    assert roles == ["system", "user"]


def test_numbers_are_forwarded_as_they_were_written() -> None:
    raw = (
        b'{"model":"m","messages":[{"role":"user","content":"hi"}],"a":1.0,"b":123456789012345678901234567890,"c":1e-7}'
    )

    sent = upstream_body(read_chat(raw), "other", Habits())

    assert sent == raw.replace(b'"model":"m"', b'"model":"other"')


def test_other_options_of_the_stream_stay_when_usage_is_asked_for() -> None:
    sent = upstream({"stream": True, "stream_options": {"x_new": [1.0]}})

    assert sent["stream_options"] == {"x_new": [1.0], "include_usage": True}


def test_of_equal_keys_the_last_one_counts_here_and_upstream() -> None:
    raw = b'{"model":"cheap","messages":[{"role":"user","content":"hi"}],"model":"dear"}'

    request = read_chat(raw)

    assert request.model == "dear"
    assert upstream_body(request, "dear", Habits()).count(b'"model"') == 1


def test_prompts_share_keys_as_far_as_they_are_alike_and_tenants_share_none() -> None:
    system = {"role": "system", "content": "s" * 2000}
    one, two = (chat(messages=[system, {"role": "user", "content": text * 600}]) for text in ("a", "b"))

    keys_one, keys_two = prefix_blocks(one, "m", b"t1"), prefix_blocks(two, "m", b"t1")

    shared = sum(a == b for a, b in zip(keys_one, keys_two, strict=False))
    assert shared == 3
    assert len(keys_one) == 5
    assert not set(keys_one) & (set(prefix_blocks(one, "m", b"t2")) | set(prefix_blocks(one, "other", b"t1")))


def test_what_was_reckoned_of_a_prompt_is_of_that_prompt_model_and_tenant() -> None:
    asked, whole = chat(**user("word " * 300)), [*user("word " * 300)["messages"], *user("more " * 300)["messages"]]
    keys, tokens = prefix_blocks(asked, "m", b"t1"), estimate_prompt(asked)

    longer = msgspec.structs.replace(asked, messages=chat(messages=whole).messages)

    assert prefix_blocks(asked, "m", b"t1") is keys
    assert not {*keys} & {*prefix_blocks(asked, "m", b"t2"), *prefix_blocks(asked, "other", b"t1")}
    assert prefix_blocks(longer, "m", b"t1") == prefix_blocks(chat(messages=whole), "m", b"t1") != keys
    assert estimate_prompt(longer) > tokens
