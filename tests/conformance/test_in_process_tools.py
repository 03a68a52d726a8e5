"""Tools on an engine in this process, with the official client: calls as an API client reads them, whole and streamed."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from engine.stub_models import ScriptModel, StubVocabulary
from openai import AsyncOpenAI
from servers.in_process import engine_of, gateway_around

from backends.engine.batch import Batch
from backends.engine.budget import Budget

PIECES = {
    1: "One moment.\n",
    2: "<tool",
    3: '_call>{"name": "look", "argu',
    4: 'ments": {"at": "Ghent"}}',
    5: "</tool_call>",
}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS}


@asynccontextmanager
async def calling(script: list[int], folder: Path) -> AsyncIterator[AsyncOpenAI]:
    """A client of a model that writes the pieces of this script, and calls as Qwen does."""
    vocabulary = StubVocabulary(PIECES, eos=0)

    def build() -> Batch:
        return Batch(ScriptModel(script, prompt=2), vocabulary, revision="r", budget=Budget(), clock=lambda: 0.0)

    upstream = engine_of(build, vocabulary, calls="hermes")
    async with (
        gateway_around(upstream, folder, can=frozenset({"tools", "logprobs"})) as gateway,
        AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0) as client,
    ):
        await gateway.until(lambda _: upstream.load().ready)
        yield client


async def test_a_whole_answer_has_its_calls_beside_its_text(tmp_path: Path) -> None:
    async with calling([1, 2, 3, 4, 5, 2, 3, 4, 5, 0], tmp_path) as client:
        answer = await client.chat.completions.create(**ASKED)
        alone = await client.chat.completions.create(**ASKED, parallel_tool_calls=False)

    [choice] = answer.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "One moment."
    assert choice.message.tool_calls is not None
    calls = [call.function for call in choice.message.tool_calls if call.type == "function"]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("look", {"at": "Ghent"})] * 2
    assert len({call.id for call in choice.message.tool_calls}) == 2
    assert len(alone.choices[0].message.tool_calls or []) == 1


async def test_an_answer_that_is_a_call_alone_has_no_content(tmp_path: Path) -> None:
    async with calling([2, 3, 4, 5, 0], tmp_path) as client:
        answer = await client.chat.completions.create(**ASKED)

    assert answer.choices[0].message.content is None
    assert answer.choices[0].message.tool_calls


async def test_a_streamed_answer_comes_to_the_same(tmp_path: Path) -> None:
    async with (
        calling([1, 2, 3, 4, 5, 2, 3, 4, 5, 0], tmp_path) as client,
        client.chat.completions.stream(**ASKED) as stream,
    ):
        texts = [event.delta async for event in stream if event.type == "content.delta"]
        final = await stream.get_final_completion()

    [choice] = final.choices
    assert "".join(texts) == choice.message.content == "One moment."
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls is not None
    assert [call.function.arguments for call in choice.message.tool_calls] == ['{"at":"Ghent"}'] * 2


async def test_a_call_that_the_limit_cut_is_told_as_text_and_as_cut(tmp_path: Path) -> None:
    async with calling([1, 2, 3, 4, 5, 0], tmp_path) as client:
        answer = await client.chat.completions.create(**ASKED, max_tokens=3)

    assert answer.choices[0].finish_reason == "length"
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].message.content == 'One moment.\n<tool_call>{"name": "look", "argu'


async def test_without_tools_the_same_words_are_text(tmp_path: Path) -> None:
    async with calling([2, 3, 4, 5, 0], tmp_path) as client:
        plain = await client.chat.completions.create(model="m", messages=ASKED["messages"])
        unused = await client.chat.completions.create(**ASKED, tool_choice="none")

    for answer in (plain, unused):
        assert answer.choices[0].finish_reason == "stop"
        assert answer.choices[0].message.content == "".join(PIECES[n] for n in (2, 3, 4, 5))


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "look"}}])
async def test_a_call_that_must_come_is_refused_by_name(choice: Any, tmp_path: Path) -> None:
    async with calling([1, 0], tmp_path) as client:
        with pytest.raises(openai.BadRequestError) as raised:
            await client.chat.completions.create(**ASKED, tool_choice=choice)

    assert raised.value.param == "tool_choice"


async def test_a_tool_that_is_no_function_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    async with calling([1, 0], tmp_path) as client:
        with pytest.raises(openai.BadRequestError) as refused:
            await client.chat.completions.create(
                **{**ASKED, "tools": [*TOOLS, {"type": "custom", "custom": {"name": "c"}}]}
            )

    assert refused.value.param == "tools[1].type"
