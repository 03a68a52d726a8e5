"""The official Anthropic client cannot tell the gateway from the real thing: over HTTP, and on an engine in this process."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import jsonschema
import pytest
from anthropic import AsyncAnthropic
from engine.json_vocabulary import SCHEMAS, SIZE, VOCABULARY
from engine.stub_models import PrefixModel, ScriptModel, StubVocabulary
from servers.in_process import engine_of, gateway_around, in_process_gateway
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import (
    FakeUpstream,
    Until,
    chat_either,
    event,
    fake_upstream,
    json_reply,
    sse_reply,
    text_chunk,
)

from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.grammar.compile import Grammars

HI: dict[str, Any] = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "hi"}]}
TOOLS: list[Any] = [{"name": "look", "input_schema": {"type": "object"}}]


def client_of(gateway: RunningGateway, **options: Any) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=gateway.base, api_key="any", **{"max_retries": 0, **options})


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with fake_upstream(chat_either("Hel", "lo")) as upstream:
        yield upstream


@pytest.fixture
async def client(upstream: FakeUpstream, tmp_path: Path) -> AsyncIterator[AsyncAnthropic]:
    async with running_gateway(one_model(upstream.base), tmp_path) as gateway, client_of(gateway) as client:
        yield client


async def test_a_whole_answer_reads_as_one(client: AsyncAnthropic) -> None:
    answer = await client.messages.create(**{**HI, "model": "auto"})

    assert [(block.type, block.text) for block in answer.content if block.type == "text"] == [("text", "Hello")]
    assert (answer.model, answer.role, answer.stop_reason) == ("m", "assistant", "end_turn")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 3)
    assert (answer._request_id or "").startswith("req_")


async def test_a_stream_reads_as_one(client: AsyncAnthropic) -> None:
    async with client.messages.stream(**HI) as stream:
        texts = [text async for text in stream.text_stream]
        final = await stream.get_final_message()

    assert texts == ["Hel", "lo"]
    assert (final.stop_reason, final.usage.input_tokens, final.usage.output_tokens) == ("end_turn", 7, 2)


async def test_errors_raise_what_they_are(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.NotFoundError) as unknown:
        await client.messages.create(**{**HI, "model": "claude-99"})
    with pytest.raises(anthropic.BadRequestError, match="max_tokens"):
        await client.messages.create(**{**HI, "max_tokens": 0})

    assert (unknown.value.request_id or "").startswith("req_")
    body: Any = unknown.value.body
    assert body["error"]["type"] == "not_found_error"


async def test_the_client_retries_what_it_is_told_to_and_nothing_else(tmp_path: Path) -> None:
    async with fake_upstream(json_reply({"error": {"message": "bad key"}}, 401)) as upstream:
        async with (
            running_gateway(one_model(upstream.base), tmp_path) as gateway,
            client_of(gateway, max_retries=2) as client,
        ):
            with pytest.raises(anthropic.InternalServerError):
                await client.messages.create(**HI)

        assert len(upstream.received) == 1


async def test_an_error_after_content_is_raised_and_the_text_before_it_is_kept(tmp_path: Path) -> None:
    reply = sse_reply(text_chunk("Hel"), event({"error": {"message": "Overloaded", "type": "overloaded_error"}}))
    async with (
        fake_upstream(reply) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
        client_of(gateway) as client,
    ):
        async with client.messages.stream(**HI) as stream:
            texts = aiter(stream.text_stream)
            assert await anext(texts) == "Hel"
            with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
                await anext(texts)
        await gateway.until_empty()


async def test_an_aborted_stream_ends_the_work_behind_it(tmp_path: Path) -> None:
    async with (
        fake_upstream(sse_reply(text_chunk("a"), Until(asyncio.Event()))) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
    ):
        async with client_of(gateway) as client:
            async with client.messages.stream(**HI) as stream:
                assert await anext(aiter(stream.text_stream)) == "a"

            await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        await gateway.until_empty(1.0)


PIECES = {
    1: "One moment.\n",
    2: "<tool",
    3: '_call>{"name": "look", "argu',
    4: 'ments": {"at": "Ghent"}}',
    5: "</tool_call>",
}
CALLS_TWICE = [1, 2, 3, 4, 5, 2, 3, 4, 5, 0]


@asynccontextmanager
async def calls_twice(folder: Path) -> AsyncIterator[RunningGateway]:
    """Before a model in its process that says a word and calls twice, as Qwen does."""
    vocabulary = StubVocabulary(PIECES, eos=0)

    def build() -> Batch:
        model = ScriptModel(CALLS_TWICE, prompt=2)
        return Batch(model, vocabulary, revision="r", budget=Budget(), clock=lambda: 0.0)

    upstream = engine_of(build, vocabulary, calls="hermes")
    async with gateway_around(upstream, folder, can=frozenset({"tools", "logprobs"})) as gateway:
        await gateway.until(lambda _: upstream.load().ready)
        yield gateway


@asynccontextmanager
async def calling(folder: Path) -> AsyncIterator[AsyncAnthropic]:
    async with calls_twice(folder) as gateway, client_of(gateway) as client:
        yield client


async def test_an_engine_here_calls_tools_whole_and_streamed(tmp_path: Path) -> None:
    async with calling(tmp_path) as client:
        whole = await client.messages.create(**HI, tools=TOOLS)
        async with client.messages.stream(**HI, tools=TOOLS) as stream:
            final = await stream.get_final_message()
        alone = await client.messages.create(
            **HI, tools=TOOLS, tool_choice={"type": "auto", "disable_parallel_tool_use": True}
        )

    answers: list[Any] = [whole, final]
    for answer in answers:
        assert [block.type for block in answer.content] == ["text", "tool_use", "tool_use"]
        assert [block.input for block in answer.content if block.type == "tool_use"] == [{"at": "Ghent"}] * 2
        assert answer.stop_reason == "tool_use"
        assert (answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0)) > 0
    assert [block.type for block in alone.content] == ["text", "tool_use"]


async def test_what_the_client_got_it_may_send_back_with_the_results(
    client: AsyncAnthropic, upstream: FakeUpstream
) -> None:
    message = {"role": "assistant", "content": None, "reasoning_content": "hm"}
    calls = [{"id": f"call_{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}} for n in "ab"]
    choice = {"index": 0, "message": {**message, "tool_calls": calls}, "finish_reason": "tool_calls"}
    upstream.scripts[:] = [json_reply({"choices": [choice]}), chat_either("done")]
    answer = await client.messages.create(**HI, tools=TOOLS)
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "seen"}
        for block in answer.content
        if block.type == "tool_use"
    ]

    turns: list[Any] = [*HI["messages"], {"role": "assistant", "content": answer.content}]
    await client.messages.create(**{**HI, "messages": [*turns, {"role": "user", "content": results}]}, tools=TOOLS)

    told = upstream.last.json["messages"]
    assert [turn["role"] for turn in told] == ["user", "assistant", "tool", "tool"]
    assert (told[1]["tool_calls"], told[1]["reasoning_content"]) == (calls, "hm")
    assert [turn["tool_call_id"] for turn in told[2:]] == ["call_a", "call_b"]


async def test_an_engine_here_answers_in_json_of_the_schema(tmp_path: Path) -> None:
    model, grammars = PrefixModel(blocks=512, vocab_size=SIZE), Grammars(VOCABULARY, SIZE)
    config: Any = {"format": {"type": "json_schema", "schema": SCHEMAS["enum"]}}
    async with (
        in_process_gateway(model, VOCABULARY, tmp_path, grammars) as (gateway, _),
        client_of(gateway) as client,
    ):
        answer = await client.messages.create(**{**HI, "max_tokens": 400}, output_config=config)

    [block] = answer.content
    assert block.type == "text"
    jsonschema.validate(json.loads(block.text), SCHEMAS["enum"])


@asynccontextmanager
async def calling_over_http(folder: Path) -> AsyncIterator[AsyncAnthropic]:
    """The same model in a worker, and the client before a gateway of its own."""
    (folder / "worker").mkdir()
    async with (
        calls_twice(folder / "worker") as worker,
        running_gateway(one_model(worker.base), folder) as gateway,
        client_of(gateway) as client,
    ):
        yield client


@pytest.mark.parametrize("reached", [calling, calling_over_http])
@pytest.mark.parametrize(
    ("stops", "told"), [(["moment"], ("stop_sequence", "moment")), (["never"], ("tool_use", None))]
)
async def test_an_engine_tells_which_stop_sequence_it_met_also_from_another_process(
    stops: list[str], told: Any, reached: Any, tmp_path: Path
) -> None:
    async with reached(tmp_path) as client:
        whole = await client.messages.create(**HI, tools=TOOLS, stop_sequences=stops)
        async with client.messages.stream(**HI, tools=TOOLS, stop_sequences=stops) as stream:
            final = await stream.get_final_message()

    assert (whole.stop_reason, whole.stop_sequence) == (final.stop_reason, final.stop_sequence) == told
