"""Streams of an upstream as the client sees them: the shapes that clients rely on, whatever the upstream sends."""

import json
from typing import Any

import pytest
from remote_calls import Ask
from upstreams.fake_upstream import (
    DONE,
    Cut,
    Reply,
    chat_answer,
    chunk,
    event,
    fake_upstream,
    finish_chunk,
    json_reply,
    sse_reply,
    text_chunk,
    usage,
)

from backends.messages import Usage

USAGE = usage(7, 3)


def one_byte_writes(data: bytes) -> Reply:
    return sse_reply(*(data[at : at + 1] for at in range(len(data))))


def choice(delta: dict[str, Any], finish: str | None = None, index: int = 0) -> dict[str, Any]:
    return {"index": index, "delta": delta, "finish_reason": finish}


def streamed(*choices: dict[str, Any]) -> Reply:
    return sse_reply(*(chunk(choices=[one]) for one in choices), DONE)


def call(id: str | None, name: str | None, arguments: Any, index: int | None = None) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {**place, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


TOOLS = [{"type": "function", "function": {"name": "f"}}]


async def test_a_character_cut_between_writes_arrives_whole(ask: Ask) -> None:
    stream = text_chunk("北京") + finish_chunk() + DONE
    cut = stream.index("北".encode()) + 1
    for reply in (sse_reply(stream[:cut], stream[cut:]), one_byte_writes(stream)):
        async with fake_upstream(reply) as upstream:
            told = await ask(upstream, stream=True)

            assert told.text() == "北京"
            assert "\ufffd".encode() not in told.stream


async def test_bytes_that_are_no_utf8_become_replacement_characters(ask: Ask) -> None:
    broken = text_chunk("a\u00ffb").replace("\u00ff".encode(), b"\xff").replace(b"\\u00ff", b"\xff")
    async with fake_upstream(sse_reply(broken, finish_chunk(), DONE)) as upstream:
        told = await ask(upstream, stream=True)

    assert told.stream.decode()
    assert told.text() == "a\ufffdb"


async def test_line_separators_of_unicode_do_not_end_a_line(ask: Ask) -> None:
    async with fake_upstream(sse_reply(text_chunk("a\u2028b\x85c\u2029d"), finish_chunk(), DONE)) as upstream:
        assert (await ask(upstream, stream=True)).text() == "a\u2028b\x85c\u2029d"


async def test_crlf_cut_between_writes_is_one_line_end(ask: Ask) -> None:
    crlf = (text_chunk("A") + text_chunk("B") + finish_chunk() + DONE).replace(b"\n", b"\r\n")
    at = crlf.index(b"\r\n\r\n") + 1
    async with fake_upstream(sse_reply(crlf[:at], crlf[at : at + 2], crlf[at + 2 :])) as upstream:
        told = await ask(upstream, stream=True)

        assert (told.text(), told.stream.count(b"[DONE]")) == ("AB", 1)


async def test_comments_ids_and_retry_times_do_not_reach_the_client(ask: Ask) -> None:
    noise = b": still working\n\nid: 7\nretry: 3000\n"
    async with fake_upstream(sse_reply(noise + text_chunk("A"), b":\n\n", finish_chunk(), DONE)) as upstream:
        told = await ask(upstream, stream=True)

        assert told.text() == "A"
        assert all(line.startswith(b"data: ") for line in told.stream.split(b"\n") if line)


@pytest.mark.parametrize("ending", [(), (Cut.EOF,), (Cut.RESET,)], ids=["proper", "eof", "reset"])
async def test_done_is_supplied_once_when_the_answer_was_finished(ask: Ask, ending: tuple[Cut, ...]) -> None:
    async with fake_upstream(sse_reply(text_chunk("A"), finish_chunk(), *ending)) as upstream:
        told = await ask(upstream, stream=True)

        assert (told.error, told.text(), told.finishes()) == (None, "A", ["stop"])
        assert told.stream.endswith(b"data: [DONE]\n\n")
        assert told.stream.count(b"[DONE]") == 1


@pytest.mark.parametrize("has_choices", [{"choices": []}, {}])
async def test_usage_is_shown_once_at_the_end_to_those_who_asked(ask: Ask, has_choices: dict[str, Any]) -> None:
    async with fake_upstream(
        sse_reply(text_chunk("A"), finish_chunk(), chunk(**has_choices, usage=USAGE), DONE)
    ) as upstream:
        told = await ask(upstream, stream=True, stream_options={"include_usage": True})

        *others, last = told.chunks
        assert (last["choices"], last["usage"], last["id"]) == ([], USAGE, "c1")
        assert all("usage" in other and other["usage"] is None for other in others)
        assert told.usage == [Usage(7, 3)]


async def test_usage_that_the_gateway_asked_for_is_for_the_books_alone(ask: Ask) -> None:
    async with fake_upstream(
        sse_reply(text_chunk("A"), finish_chunk(), chunk(choices=[], usage=USAGE), DONE)
    ) as upstream:
        told = await ask(upstream, stream=True)

        assert upstream.last.json["stream_options"] == {"include_usage": True}
        assert all(chunk["choices"] and "usage" not in chunk for chunk in told.chunks)
        assert told.usage == [Usage(7, 3)]


async def test_cumulative_usage_is_neither_summed_nor_repeated(ask: Ask) -> None:
    pieces = [chunk(choices=[choice({"content": "a"})], usage=usage(10, count)) for count in (1, 2)]
    last = chunk(choices=[choice({}, "stop")], usage=usage(10, 3))
    async with fake_upstream(sse_reply(*pieces, last, DONE)) as upstream:
        told = await ask(upstream, stream=True, stream_options={"include_usage": True})

        shown = [chunk["usage"] for chunk in told.chunks if chunk["usage"]]
        assert shown == [usage(10, 3)]
        assert told.usage == [Usage(10, 3)]


async def test_cached_tokens_reach_the_books(ask: Ask) -> None:
    told_usage = {**USAGE, "prompt_tokens_details": {"cached_tokens": 5}}
    async with fake_upstream(
        sse_reply(text_chunk("A"), finish_chunk(), chunk(choices=[], usage=told_usage), DONE)
    ) as upstream:
        assert (await ask(upstream, stream=True)).usage == [Usage(7, 3, 5)]


@pytest.mark.parametrize("role", [{"role": "assistant"}, {}])
async def test_the_role_is_in_the_first_delta_and_in_no_other(ask: Ask, role: dict[str, str]) -> None:
    deltas = [choice({"content": "x"}), choice({**role, "content": "y"}), choice({**role, "content": ""}, "stop")]
    async with fake_upstream(streamed(*deltas)) as upstream:
        told = await ask(upstream, stream=True)

        assert told.text() == "xy"
        assert [c["delta"].get("role") for c in told.choices] == ["assistant", None, None]


async def test_parallel_tool_calls_are_numbered_when_the_upstream_does_not(ask: Ask) -> None:
    first = choice({"role": "assistant", "tool_calls": [call("call_a", "f", '{"x":1}')]})
    second = choice({"tool_calls": [call("call_b", "g", '{"y":2}', index=0)]})
    async with fake_upstream(streamed(first, second, choice({}, "tool_calls"))) as upstream:
        told = await ask(upstream, stream=True, tools=TOOLS)

        assert told.tool_calls == [
            {"id": "call_a", "name": "f", "arguments": '{"x":1}'},
            {"id": "call_b", "name": "g", "arguments": '{"y":2}'},
        ]
        assert told.finishes() == ["tool_calls"]


async def test_id_and_name_of_a_call_appear_once(ask: Ask) -> None:
    parts = [call("call_a", "f", "", 0), call("call_a", "f", '{"x"', 0), call("", None, ":1}", 0)]
    deltas = [choice({"tool_calls": [part]}) for part in parts]
    async with fake_upstream(streamed(*deltas, choice({}, "tool_calls"))) as upstream:
        told = await ask(upstream, stream=True, tools=TOOLS)

        assert told.tool_calls == [{"id": "call_a", "name": "f", "arguments": '{"x":1}'}]


@pytest.mark.parametrize(
    ("reason", "tool_choice", "shown"),
    [
        ("stop", "auto", "tool_calls"),
        ("length", "auto", "length"),
        ("stop", {"type": "function", "function": {"name": "f"}}, "stop"),
    ],
)
async def test_stop_after_tool_calls_is_tool_calls_streamed_and_not(
    ask: Ask, reason: str, tool_choice: Any, shown: str
) -> None:
    calls = [call("call_a", "f", "{}", 0)]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    whole = json_reply({"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
    async with fake_upstream(streamed(choice({"tool_calls": calls}), choice({}, reason)), whole) as upstream:
        told = await ask(upstream, stream=True, tools=TOOLS, tool_choice=tool_choice)
        unstreamed = await ask(upstream, tools=TOOLS, tool_choice=tool_choice)

        assert told.finishes() == [shown]
        assert unstreamed.whole["choices"][0]["finish_reason"] == shown


async def test_each_of_two_choices_finishes_once_and_the_stream_lives_until_the_last(ask: Ask) -> None:
    deltas = [
        choice({"role": "assistant", "content": "a"}),
        choice({"role": "assistant", "content": "x"}, index=1),
        choice({}, "stop"),
        choice({"content": "y"}, index=1),
        choice({"content": "z"}, "length", index=1),
        choice({}, "length", index=1),
    ]
    async with fake_upstream(streamed(*deltas)) as upstream:
        told = await ask(upstream, stream=True, n=2)

        assert (told.text(0), told.text(1)) == ("a", "xyz")
        assert (told.finishes(0), told.finishes(1)) == (["stop"], ["length"])


@pytest.mark.parametrize("ending", [DONE, b""], ids=["done", "end"])
async def test_a_choice_that_began_and_never_finished_makes_the_answer_cut(ask: Ask, ending: bytes) -> None:
    unfinished = sse_reply(text_chunk("a"), text_chunk("x", index=1), finish_chunk(), ending)
    async with fake_upstream(unfinished) as upstream:
        told = await ask(upstream, stream=True, n=2)

        assert told.error is not None
        assert told.error.kind == "stream_cut"


async def test_arguments_leave_as_a_string_and_a_lone_call_as_a_list(ask: Ask) -> None:
    lone = {
        "id": "0",
        "type": "function",
        "function": {"name": "f", "description": None, "arguments": {"city": "Oslo"}},
    }
    message = {"role": "assistant", "content": None, "tool_calls": lone}
    body = {"id": "c1", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}], "usage": USAGE}
    delta = choice({"tool_calls": lone})
    async with fake_upstream(json_reply(body), streamed(delta, choice({}, "stop"))) as upstream:
        whole = (await ask(upstream, tools=TOOLS)).whole["choices"][0]["message"]["tool_calls"]
        streamed_calls = (await ask(upstream, stream=True, tools=TOOLS)).tool_calls

        assert [one["id"] for one in whole] == ["0"]
        assert json.loads(whole[0]["function"]["arguments"]) == {"city": "Oslo"}
        assert json.loads(streamed_calls[0]["arguments"]) == {"city": "Oslo"}


async def test_the_model_is_named_as_the_catalogue_names_it_and_unknown_fields_stay(ask: Ask) -> None:
    odd = chunk(choices=[choice({"content": "a", "x_new": 1.0})], model="vendor/m-70b", service_tier="gold")
    async with fake_upstream(sse_reply(odd, finish_chunk(), DONE), chat_answer("x")) as upstream:
        told = await ask(upstream, stream=True)
        whole = (await ask(upstream)).whole

        assert [chunk["model"] for chunk in told.chunks] == ["m", "m"]
        assert told.chunks[0]["service_tier"] == "gold"
        assert told.choices[0]["delta"]["x_new"] == 1.0
        assert (whole["model"], whole["choices"][0]["message"]["content"]) == ("m", "x")


async def test_reasoning_counts_as_content(ask: Ask) -> None:
    async with fake_upstream(
        streamed(choice({"reasoning_content": "hm"}), choice({"content": "a"}, "stop"))
    ) as upstream:
        told = await ask(upstream, stream=True)

        assert [getattr(event, "speaks", None) for event in told.events] == [True, True]


async def test_an_event_without_choices_is_not_shown(ask: Ask) -> None:
    filtered = chunk(choices=[], prompt_filter_results=[])
    async with fake_upstream(sse_reply(filtered, event(""), text_chunk("a", finish="stop"), DONE)) as upstream:
        assert (await ask(upstream, stream=True)).text() == "a"
