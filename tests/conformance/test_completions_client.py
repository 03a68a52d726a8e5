"""The official OpenAI client's Completions: servers of the dialect get its bytes, an engine here goes on with the bare text."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from engine.stub_models import PrefixModel, ScriptModel, StubVocabulary
from openai import AsyncOpenAI
from servers.in_process import in_process_gateway

PIECES = {1: " wor", 2: "<0xC3>", 3: "<0xA9>", 4: "!"}
SCRIPT = [1, 2, 3, 4, 0]


@asynccontextmanager
async def asking(
    folder: Path, model: Any = None, vocabulary: StubVocabulary | None = None
) -> AsyncIterator[AsyncOpenAI]:
    """A client of an engine that says ` woré!` to a prompt of two characters."""
    speaker = model or ScriptModel(SCRIPT, prompt=2)
    words = vocabulary or StubVocabulary(PIECES, eos=0)
    async with (
        in_process_gateway(speaker, words, folder) as (gateway, _),
        AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0) as client,
    ):
        yield client


async def test_a_bare_text_is_gone_on_with_whole_and_streamed(tmp_path: Path) -> None:
    async with asking(tmp_path) as client:
        whole = await client.completions.create(model="m", prompt="hi")
        stream = await client.completions.create(
            model="m", prompt="hi", stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]

    [choice] = whole.choices
    assert (choice.text, choice.finish_reason, choice.logprobs) == (" woré!", "stop", None)
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == choice.text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    for usage in (whole.usage, chunks[-1].usage):
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens) == (2, 5)
    assert (whole.object, whole.model, whole.id[:5]) == ("text_completion", "m", "cmpl-")


async def test_an_answer_has_sixteen_tokens_unless_more_are_asked_for(tmp_path: Path) -> None:
    async with asking(tmp_path, PrefixModel(), StubVocabulary(eos=None)) as client:
        short = await client.completions.create(model="m", prompt="hi")
        longer = await client.completions.create(model="m", prompt="hi", max_tokens=20)

    for answer, tokens in ((short, 16), (longer, 20)):
        assert answer.usage is not None
        assert (answer.usage.completion_tokens, answer.choices[0].finish_reason) == (tokens, "length")


async def test_several_prompts_with_several_answers_each_come_in_order(tmp_path: Path) -> None:
    async with asking(tmp_path, PrefixModel(), StubVocabulary(eos=None)) as client:
        options: dict[str, Any] = {"model": "m", "n": 2, "seed": 3, "max_tokens": 4}
        together = await client.completions.create(prompt=["hi", "there"], **options)
        alone = [await client.completions.create(prompt=prompt, **options) for prompt in ("hi", "there")]

    assert [choice.index for choice in together.choices] == [0, 1, 2, 3]
    texts = [choice.text for choice in together.choices]
    assert texts == [choice.text for answer in alone for choice in answer.choices]
    assert together.usage is not None
    assert (together.usage.prompt_tokens, together.usage.completion_tokens) == (7, 16)


async def test_the_prompt_may_be_repeated_before_the_answer(tmp_path: Path) -> None:
    async with asking(tmp_path) as client:
        whole = await client.completions.create(model="m", prompt="hi", echo=True)
        stream = await client.completions.create(model="m", prompt="hi", echo=True, stream=True)
        texts = [chunk.choices[0].text async for chunk in stream if chunk.choices]

    assert whole.choices[0].text == "".join(texts) == "hi woré!"


async def test_log_probabilities_have_the_older_shape(tmp_path: Path) -> None:
    async with asking(tmp_path) as client:
        whole = await client.completions.create(model="m", prompt="hi", logprobs=2)
        stream = await client.completions.create(model="m", prompt="hi", logprobs=2, stream=True)
        chunks = [chunk async for chunk in stream]

    told = whole.choices[0].logprobs
    assert told is not None
    assert told.text_offset == [0, 4, 4, 5]
    assert told.tokens is not None
    assert (told.tokens[0], told.tokens[3]) == (" wor", "!")
    assert told.top_logprobs is not None
    assert told.token_logprobs is not None
    for token, logprob, top in zip(told.tokens, told.token_logprobs, told.top_logprobs, strict=True):
        assert top[token] == logprob
        assert len(top) <= 3
    pieces = [chunk.choices[0].logprobs for chunk in chunks if chunk.choices and chunk.choices[0].logprobs]
    assert [offset for piece in pieces for offset in piece.text_offset or ()] == told.text_offset


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"prompt": "hi", "echo": True, "logprobs": 1}, "echo"),
        ({"prompt": [1, 2], "echo": True}, "echo"),
        ({"prompt": "hi", "max_tokens": 0}, "max_tokens"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": [1, 64]}, "prompt"),
        ({"prompt": "x" * 600}, "prompt"),
    ],
)
async def test_what_an_engine_here_cannot_do_is_refused_by_its_name(asked: Any, param: str, tmp_path: Path) -> None:
    async with asking(tmp_path) as client:
        with pytest.raises(openai.BadRequestError) as refused:
            await client.completions.create(model="m", **asked)

    assert refused.value.param == param


async def test_token_ids_are_read_as_they_are(tmp_path: Path) -> None:
    async with asking(tmp_path) as client:
        answer = await client.completions.create(model="m", prompt=[7, 9], stop=["é"])

    assert answer.choices[0].text == " wor"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 2
