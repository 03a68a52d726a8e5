"""Both official clients in front of a server that speaks Anthropic's Messages, and what the gateway does with its answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from anthropic import AsyncAnthropic
from conformance.seen import seen_of
from openai import AsyncOpenAI
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_messages import STOP, block, ending, message, messages_either, messages_stream, start, text_block
from upstreams.fake_upstream import (
    FakeUpstream,
    Script,
    Until,
    chat_either,
    fake_upstream,
    json_reply,
    sse_reply,
    unused_port,
)

from gateway.settings import Telemetry

POLICY = """
policy: 1
models: {{m: {{at: '{at}', dialect: anthropic, serves: theirs, fits: {{context: 1000, output: 64}}{more}}}}}
routes: [{{use: m}}]
"""
HI: dict[str, Any] = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
TOOL = {"name": "look", "input_schema": {"type": "object"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "Ghent"}}
THINKS_AND_CALLS = sse_reply(
    start(),
    block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "c2ln"},
    ),
    text_block(1, "I ", "look"),
    block(
        2,
        {**CALL, "input": {}},
        *({"type": "input_json_delta", "partial_json": part} for part in ("", '{"at": "Gh', 'ent"}')),
    ),
    ending("tool_use", output_tokens=9),
    STOP,
)


class World:
    """A gateway in front of one server of this dialect, and both clients of it."""

    def __init__(self, upstream: FakeUpstream, gateway: RunningGateway) -> None:
        self.upstream, self.gateway = upstream, gateway
        self.messages = AsyncAnthropic(base_url=gateway.base, api_key="any", max_retries=0)
        self.chat = AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0)


@asynccontextmanager
async def world(folder: Path, *scripts: Script, more: str = "", **settings: Any) -> AsyncIterator[World]:
    async with (
        fake_upstream(*scripts) as upstream,
        running_gateway(POLICY.format(at=upstream.base, more=more), folder, **settings) as gateway,
    ):
        found = World(upstream, gateway)
        async with found.messages, found.chat:
            yield found
        await gateway.until_empty()


async def test_the_anthropic_client_reads_thinking_text_and_calls_as_they_were_sent(tmp_path: Path) -> None:
    async with world(tmp_path, THINKS_AND_CALLS) as here, here.messages.messages.stream(**HI, tools=[TOOL]) as stream:
        final = await stream.get_final_message()

    content = [item.model_dump(exclude_none=True, exclude={"parsed_output"}) for item in final.content]
    assert content[0] == THOUGHT
    assert content[1]["text"] == "I look"
    assert {key: content[2][key] for key in CALL} == CALL
    assert (final.id, final.model, final.stop_reason) == ("msg_1", "m", "tool_use")
    assert (final.usage.input_tokens, final.usage.output_tokens) == (7, 9)


async def test_what_the_anthropic_client_got_goes_back_with_its_signature(tmp_path: Path) -> None:
    whole = json_reply(message(THOUGHT, CALL, reason="tool_use"))
    async with world(tmp_path, whole, messages_either("done")) as here:
        answer = await here.messages.messages.create(**HI, tools=[TOOL])  # type: ignore[list-item]
        result: Any = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}]
        turns: list[Any] = [
            *HI["messages"],
            {"role": "assistant", "content": answer.content},
            {"role": "user", "content": result},
        ]
        await here.messages.messages.create(**{**HI, "messages": turns})

        sent = here.upstream.last.json["messages"][1]["content"]
        assert sent[0] == THOUGHT
        assert {key: sent[1][key] for key in CALL} == CALL


async def test_the_openai_client_reads_text_and_calls(tmp_path: Path) -> None:
    tools: Any = [{"type": "function", "function": {"name": "look"}}]
    async with world(tmp_path, THINKS_AND_CALLS, json_reply(message(THOUGHT, CALL, reason="tool_use"))) as here:
        async with here.chat.chat.completions.stream(model="m", messages=HI["messages"], tools=tools) as stream:
            final = await stream.get_final_completion()
        whole = await here.chat.chat.completions.create(model="m", messages=HI["messages"], tools=tools)

    assert final.choices[0].message.content == "I look"
    for answer in (final, whole):
        calls: Any = answer.choices[0].message.tool_calls
        assert [(call.id, call.function.name, json.loads(call.function.arguments)) for call in calls] == [
            ("toolu_1", "look", {"at": "Ghent"})
        ]
        assert answer.choices[0].finish_reason == "tool_calls"


async def test_errors_are_the_classes_that_each_client_knows(tmp_path: Path) -> None:
    limit = json_reply(
        {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}, 429, [("retry-after", "9")]
    )
    async with world(tmp_path, limit) as here:
        with pytest.raises(anthropic.RateLimitError, match="slow down") as own:
            await here.messages.messages.create(**HI)
        with pytest.raises(openai.RateLimitError, match="slow down") as other:
            await here.chat.chat.completions.create(model="m", messages=HI["messages"])

    assert [error.value.response.headers["retry-after"] for error in (own, other)] == ["9", "9"]


async def test_the_server_counts_for_who_asks_also_what_is_too_long_to_be_answered(tmp_path: Path) -> None:
    async with world(tmp_path, messages_either("ok")) as here:
        for words in ("hi", "word " * 2_000):
            counted = await here.messages.messages.count_tokens(
                model="m", messages=[{"role": "user", "content": words}]
            )
            assert counted.input_tokens == 11
        with pytest.raises(anthropic.BadRequestError, match="aximum context length is 1000 tokens"):
            await here.messages.messages.create(**{**HI, "messages": [{"role": "user", "content": "word " * 2_000}]})

        assert {got.path for got in here.upstream.received} == {"/v1/messages/count_tokens"}
        assert here.upstream.last.json.keys() == {"model", "messages"}


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (json_reply({"tokens": 1}), 502),
        (json_reply({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529), 529),
        (json_reply({"type": "error", "error": {"type": "not_found_error", "message": "no such model"}}, 404), 404),
    ],
)
async def test_a_count_that_fails_says_so(answer: Any, status: int, tmp_path: Path) -> None:
    async with world(tmp_path, answer) as here:
        with pytest.raises(anthropic.APIStatusError) as failed:
            await here.messages.messages.count_tokens(model="m", messages=HI["messages"])

    assert failed.value.status_code == status


async def test_usage_of_the_end_is_in_the_books_with_what_was_cached(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ends = sse_reply(
        start(input_tokens=0),
        text_block(0, "T"),
        ending(input_tokens=22, cache_creation_input_tokens=11, output_tokens=5),
        STOP,
    )
    async with world(tmp_path, ends, telemetry=Telemetry(log="json")) as here:
        await here.chat.chat.completions.create(model="m", messages=HI["messages"], stream=True)
        async with here.messages.messages.stream(**HI) as stream:
            await stream.get_final_message()

    lines = [json.loads(text) for text in capfd.readouterr().err.splitlines() if text.startswith("{")]
    booked = [line for line in lines if line["event"] == "request"]
    assert [(line["prompt_tokens"], line["completion_tokens"]) for line in booked] == [(33, 5), (33, 5)]


async def test_a_client_that_leaves_ends_the_work_behind_it(tmp_path: Path) -> None:
    async with world(tmp_path, sse_reply(start(), text_block(0, "a"), Until(asyncio.Event()))) as here:
        async with here.messages.messages.stream(**HI) as stream:
            assert await anext(aiter(stream.text_stream)) == "a"

        await asyncio.wait_for(here.upstream.last.closed.wait(), 1.0)
        await here.gateway.until_empty(1.0)


REFUSES = "I'm sorry, but I can't help with that."
CASCADE = """
policy: 1
models:
  small: {{at: '{small}', {small_is}}}
  large: {{at: '{large}', {large_is}}}
routes: [{{use: small, escalate: careful}}]
escalations: {{careful: {{to: large, when: {{p_correct: {{under: 50%}}}}, hold_back: {{tokens: 4, at_most: 100ms}}}}}}
"""
SPEAKS_MESSAGES = "dialect: anthropic, fits: {output: 64}"


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("small_speaks", [True, False])
async def test_an_answer_is_judged_and_escalated_across_dialects(
    small_speaks: bool, stream: bool, path: str, tmp_path: Path
) -> None:
    """A refusal of the smaller model is never seen, whichever of the two speaks which dialect."""
    refuses, answers = (messages_either, chat_either) if small_speaks else (chat_either, messages_either)
    async with fake_upstream(refuses(REFUSES)) as small, fake_upstream(answers("Of ", "course")) as large:
        speaks = (
            {"small_is": SPEAKS_MESSAGES, "large_is": "can: []"}
            if small_speaks
            else {"small_is": "can: []", "large_is": SPEAKS_MESSAGES}
        )
        policy = CASCADE.format(small=small.base, large=large.base, **speaks)
        async with running_gateway(policy, tmp_path) as gateway, httpx.AsyncClient(timeout=10) as client:
            answer = await client.post(f"{gateway.base}{path}", json={**HI, "model": "auto", "stream": stream})
            await gateway.until_empty()

    assert answer.headers["x-turnout-model"] == "large"
    assert "sorry" not in answer.text
    assert "course" in answer.text
    if stream:
        ends = seen_of(answer)
        assert (ends.dones, ends.names.count("message_stop")) == ((0, 1) if path == "/v1/messages" else (1, 0))


async def test_a_stream_that_breaks_before_its_first_word_goes_to_the_next_model_of_another_dialect(
    tmp_path: Path,
) -> None:
    policy = """
policy: 1
models: {{a: {{at: '{a}', dialect: anthropic, fits: {{output: 64}}}}, b: {{at: '{b}'}}, c: {{at: '{c}'}}}}
routes: [{{use: c, fallback: [a, b]}}]
"""
    gone = f"http://127.0.0.1:{unused_port()}"
    overloaded = sse_reply(
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"O"}}\n\n'
    )
    async with fake_upstream(overloaded) as first, fake_upstream(chat_either("Hi")) as second:
        async with (
            running_gateway(policy.format(a=first.base, b=second.base, c=gone), tmp_path) as gateway,
            AsyncAnthropic(base_url=gateway.base, api_key="any", max_retries=0) as client,
            client.messages.stream(**{**HI, "model": "auto"}) as stream,
        ):
            final = await stream.get_final_message()

        assert (final.model, final.stop_reason) == ("b", "end_turn")
        assert (len(first.received), len(second.received)) == (1, 1)


async def test_a_watched_server_is_asked_for_its_models_with_its_key_in_its_own_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_M", "kA")
    listed = json_reply({"data": [{"id": "theirs", "type": "model"}], "has_more": False})
    async with world(tmp_path, listed, more=", key: 'env:KEY_OF_M'") as here:
        (replica,) = here.gateway.gateway.live
        upstream: Any = replica.upstream
        load = await upstream.probe(1.0)

        assert load.ready
        got = here.upstream.last
        assert (got.path, got.header("x-api-key"), got.header("authorization")) == ("/v1/models", "kA", None)
        assert got.header("anthropic-version") == "2023-06-01"


async def test_the_same_prompt_of_both_dialects_is_the_same_prefix(tmp_path: Path) -> None:
    """A conversation that moves from one client library to the other finds its replica."""
    policy = """
policy: 1
models: {{m: {{at: ['{a}', '{b}'], dialect: anthropic, fits: {{output: 64}}}}}}
routes: [{{use: m}}]
"""
    words = "one of many words " * 200
    async with (
        fake_upstream(messages_either("a")) as a,
        fake_upstream(messages_either("b")) as b,
        running_gateway(policy.format(a=a.base, b=b.base), tmp_path) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        body = {**HI, "messages": [{"role": "user", "content": words}]}
        for path in ("/v1/messages", "/v1/chat/completions") * 3:
            assert (await client.post(f"{gateway.base}{path}", json=body)).status_code == 200

    assert sorted((len(a.received), len(b.received))) == [0, 6]


async def test_streams_of_both_dialects_say_the_same(tmp_path: Path) -> None:
    async with world(tmp_path, messages_stream("Hel", "lo")) as here, httpx.AsyncClient(timeout=10) as client:
        own = seen_of(await client.post(f"{here.gateway.base}/v1/messages", json={**HI, "stream": True}))
        other = seen_of(await client.post(f"{here.gateway.base}/v1/chat/completions", json={**HI, "stream": True}))

    texts = [event["delta"]["text"] for event in own.events if event["type"] == "content_block_delta"]
    assert texts == [delta["content"] for delta in other.deltas() if "content" in delta] == ["Hel", "lo"]
