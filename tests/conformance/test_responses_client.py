"""The official OpenAI client's Responses cannot tell the gateway from the real thing: over HTTP, and on an engine here."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import openai
import pytest
from engine.json_vocabulary import SIZE, VOCABULARY
from engine.stub_models import PrefixModel, ScriptModel, StubVocabulary
from openai import AsyncOpenAI
from pydantic import BaseModel
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

HI: dict[str, Any] = {"model": "m", "input": "hi"}
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"], "additionalProperties": False}
TOOLS: list[Any] = [{"type": "function", "name": "look", "parameters": SCHEMA, "strict": True}]


class Colour(BaseModel):
    kind: Literal["red", "green"]


def client_of(gateway: RunningGateway, **options: Any) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", **{"max_retries": 0, **options})


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with fake_upstream(chat_either("Hel", "lo")) as upstream:
        yield upstream


@pytest.fixture
async def client(upstream: FakeUpstream, tmp_path: Path) -> AsyncIterator[AsyncOpenAI]:
    async with running_gateway(one_model(upstream.base), tmp_path) as gateway, client_of(gateway) as client:
        yield client


async def test_a_whole_answer_reads_as_one(client: AsyncOpenAI) -> None:
    answer = await client.responses.create(**{**HI, "model": "auto"}, metadata={"run": "a"})

    assert (answer.output_text, answer.model, answer.status, answer.metadata) == (
        "Hello",
        "m",
        "completed",
        {"run": "a"},
    )
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (7, 3, 10)
    assert answer.id.startswith("resp_")
    assert not answer.to_dict()["store"]


async def test_a_stream_reads_as_one(client: AsyncOpenAI) -> None:
    async with client.responses.stream(**HI) as stream:
        events = [event async for event in stream]
        final = await stream.get_final_response()

    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert deltas == ["Hel", "lo"]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert (final.output_text, final.status) == ("Hello", "completed")
    assert final.usage is not None
    assert final.usage.output_tokens == 2


async def test_the_headers_tell_who_answered_and_why(client: AsyncOpenAI) -> None:
    raw = await client.responses.with_raw_response.create(**HI)

    assert (raw.headers["x-turnout-model"], raw.headers["x-turnout-route"]) == ("m", "pinned")


async def test_errors_raise_what_they_are(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        await client.responses.create(**{**HI, "model": "gpt-99"})
    with pytest.raises(openai.BadRequestError, match="nothing is kept here") as kept:
        await client.responses.create(**HI, previous_response_id="resp_1")

    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    assert kept.value.param == "previous_response_id"


async def test_an_error_after_content_is_an_event_and_the_text_before_it_is_kept(tmp_path: Path) -> None:
    reply = sse_reply(text_chunk("Hel"), event({"error": {"message": "Overloaded", "type": "overloaded_error"}}))
    async with (
        fake_upstream(reply) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
        client_of(gateway) as client,
    ):
        events = [event async for event in await client.responses.create(**HI, stream=True)]
        await gateway.until_empty()

    assert [event.delta for event in events if event.type == "response.output_text.delta"] == ["Hel"]
    last = events[-1]
    assert last.type == "error"
    assert last.message == "Overloaded"


async def test_an_aborted_stream_ends_the_work_behind_it(tmp_path: Path) -> None:
    async with (
        fake_upstream(sse_reply(text_chunk("a"), Until(asyncio.Event()))) as upstream,
        running_gateway(one_model(upstream.base), tmp_path) as gateway,
    ):
        async with client_of(gateway) as client:
            stream = await client.responses.create(**HI, stream=True)
            async for got in stream:
                if got.type == "response.output_text.delta":
                    break
            await stream.close()

            await asyncio.wait_for(upstream.last.closed.wait(), 1.0)
        await gateway.until_empty(1.0)


async def test_what_the_client_got_it_may_send_back_with_the_results(
    client: AsyncOpenAI, upstream: FakeUpstream
) -> None:
    message = {"role": "assistant", "content": None, "reasoning_content": "hm"}
    functions = [{"name": "look", "arguments": '{"at":"Ghent"}'}, {"name": "look", "arguments": '{"at":"Bruges"}'}]
    calls = [{"id": f"call_{n}", "type": "function", "function": f} for n, f in zip("ab", functions, strict=True)]
    choice = {"index": 0, "message": {**message, "tool_calls": calls}, "finish_reason": "tool_calls"}
    upstream.scripts[:] = [json_reply({"choices": [choice]}), chat_either("done")]
    answer = await client.responses.parse(**HI, tools=TOOLS)
    results: list[Any] = [
        {"type": "function_call_output", "call_id": item.call_id, "output": str(item.parsed_arguments)}
        for item in answer.output
        if item.type == "function_call"
    ]

    history: list[Any] = [{"role": "user", "content": "hi"}, *answer.output, *results]
    await client.responses.create(model="m", input=history, tools=TOOLS)

    told = upstream.last.json["messages"]
    assert [turn["role"] for turn in told] == ["user", "assistant", "tool", "tool"]
    assert (told[1]["tool_calls"], told[1]["reasoning_content"]) == (calls, "hm")
    assert [turn["content"] for turn in told[2:]] == ["{'at': 'Ghent'}", "{'at': 'Bruges'}"]


PIECES = {
    1: "One moment.\n",
    2: "<tool",
    3: '_call>{"name": "look", "argu',
    4: 'ments": {"at": "Ghent"}}',
    5: "</tool_call>",
}
CALLS_TWICE = [1, 2, 3, 4, 5, 2, 3, 4, 5, 0]


@asynccontextmanager
async def calling(folder: Path) -> AsyncIterator[AsyncOpenAI]:
    """A client of a model that says a word and calls twice, as Qwen does."""
    vocabulary = StubVocabulary(PIECES, eos=0)

    def build() -> Batch:
        model = ScriptModel(CALLS_TWICE, prompt=2)
        return Batch(model, vocabulary, revision="r", budget=Budget(), clock=lambda: 0.0)

    upstream = engine_of(build, vocabulary, calls="hermes")
    async with (
        gateway_around(upstream, folder, can=frozenset({"tools", "logprobs"})) as gateway,
        client_of(gateway) as client,
    ):
        await gateway.until(lambda _: upstream.load().ready)
        yield client


async def test_an_engine_here_calls_tools_whole_and_streamed(tmp_path: Path) -> None:
    async with calling(tmp_path) as client:
        whole = await client.responses.parse(**HI, tools=TOOLS)
        async with client.responses.stream(**HI, tools=TOOLS) as stream:
            final = await stream.get_final_response()
        alone = await client.responses.create(**HI, tools=TOOLS, parallel_tool_calls=False)

    for answer in (whole, final):
        assert [item.type for item in answer.output] == ["message", "function_call", "function_call"]
        calls = [item for item in answer.output if item.type == "function_call"]
        assert [call.parsed_arguments for call in calls] == [{"at": "Ghent"}] * 2
        assert (answer.output_text, answer.status) == ("One moment.", "completed")
    assert [item.type for item in alone.output] == ["message", "function_call"]


async def test_an_engine_here_is_cut_by_the_limit_and_says_so(tmp_path: Path) -> None:
    async with calling(tmp_path) as client:
        cut = await client.responses.create(**HI, max_output_tokens=1)
        events = [event async for event in await client.responses.create(**HI, max_output_tokens=1, stream=True)]

    assert (cut.status, cut.output_text) == ("incomplete", "One moment.\n")
    assert cut.incomplete_details is not None
    assert cut.incomplete_details.reason == "max_output_tokens"
    assert events[-1].type == "response.incomplete"


async def test_an_engine_here_tells_log_probabilities_to_who_asks(tmp_path: Path) -> None:
    async with calling(tmp_path) as client:
        asked = await client.responses.create(
            **HI, max_output_tokens=1, top_logprobs=2, include=["message.output_text.logprobs"]
        )
        silent = await client.responses.create(**HI, max_output_tokens=1)

    def told(answer: Any) -> Any:
        return answer.output[0].content[0].logprobs

    [token] = told(asked)
    assert (token.token, len(token.top_logprobs)) == ("One moment.\n", 2)
    assert token.logprob <= 0
    assert told(silent) == []


async def test_an_engine_here_answers_in_json_that_the_client_parses(tmp_path: Path) -> None:
    model, grammars = PrefixModel(blocks=512, vocab_size=SIZE), Grammars(VOCABULARY, SIZE)
    async with (
        in_process_gateway(model, VOCABULARY, tmp_path, grammars) as (gateway, _),
        client_of(gateway) as client,
    ):
        answer = await client.responses.parse(**HI, max_output_tokens=400, temperature=0, text_format=Colour)
        async with client.responses.stream(**HI, max_output_tokens=400, temperature=0, text_format=Colour) as stream:
            final = await stream.get_final_response()

    assert answer.output_parsed is not None
    assert answer.output_parsed.kind in ("red", "green")
    assert final.output_parsed == answer.output_parsed
