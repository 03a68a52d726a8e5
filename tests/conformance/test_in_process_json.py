"""Structured output of an engine in this process, through the real app and the official client."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema
import openai
import pytest
from engine.json_vocabulary import QUOTE_EARLY, SCHEMAS, SIZE, VOCABULARY, asks
from engine.stub_models import PrefixModel
from openai import AsyncOpenAI
from servers.in_process import in_process_gateway

from backends.engine.grammar.compile import Grammars

BIAS = {str(token): value for token, value in QUOTE_EARLY.items()}


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[AsyncOpenAI]:
    """Of a gateway whose only model is noise."""
    model, grammars = PrefixModel(blocks=512, vocab_size=SIZE), Grammars(VOCABULARY, SIZE)
    async with (
        in_process_gateway(model, VOCABULARY, tmp_path, grammars) as (gateway, _),
        AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0) as client,
    ):
        yield client


async def ask(client: AsyncOpenAI, response_format: Any, **fields: Any) -> Any:
    fields = {"model": "auto", "logit_bias": BIAS, "max_tokens": 400, **fields}
    messages: Any = [{"role": "user", "content": "Tell me in JSON."}]
    return await client.chat.completions.create(messages=messages, response_format=response_format, **fields)


async def test_every_choice_of_noise_is_an_instance_of_its_schema(client: AsyncOpenAI) -> None:
    asked = [ask(client, asks(schema), n=3, seed=7, temperature=0.9) for schema in SCHEMAS.values()]
    answers = await asyncio.gather(*asked)

    for answer, schema in zip(answers, SCHEMAS.values(), strict=True):
        assert [choice.finish_reason for choice in answer.choices] == ["stop"] * 3
        for choice in answer.choices:
            jsonschema.validate(json.loads(choice.message.content), schema)


@pytest.mark.parametrize("name", ["flat", "enum", "tree"])
async def test_streamed_json_is_the_whole_json(client: AsyncOpenAI, name: str) -> None:
    options = {"temperature": 0.6, "seed": 3, "presence_penalty": 0.4, "logprobs": True}
    whole = await ask(client, asks(SCHEMAS[name]), **options)
    stream = await ask(client, asks(SCHEMAS[name]), **options, stream=True)
    chunks = [chunk async for chunk in stream]

    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    jsonschema.validate(json.loads(text), SCHEMAS[name])
    assert chunks[-1].choices[0].finish_reason == "stop"


async def test_a_json_object_is_an_object_and_says_length_when_it_was_cut(client: AsyncOpenAI) -> None:
    whole = await ask(client, {"type": "json_object"}, seed=1, temperature=1)
    cut = await ask(client, {"type": "json_object"}, seed=1, temperature=1, max_tokens=2)

    assert whole.choices[0].finish_reason == "stop"
    assert isinstance(json.loads(whole.choices[0].message.content), dict)
    assert cut.choices[0].finish_reason == "length"
    assert whole.choices[0].message.content.startswith(cut.choices[0].message.content)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_keyword_that_cannot_be_obeyed_is_a_400_that_names_it(client: AsyncOpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as raised:
        await ask(client, asks({"type": "array", "uniqueItems": True}), stream=stream)

    assert raised.value.param == "response_format"
    assert "uniqueItems" in raised.value.message


async def test_a_model_that_cannot_write_json_refuses_to_try(tmp_path: Path) -> None:
    async with (
        in_process_gateway(PrefixModel(vocab_size=SIZE), VOCABULARY, tmp_path) as (gateway, _),
        AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0) as client,
    ):
        with pytest.raises(openai.BadRequestError) as raised:
            await ask(client, {"type": "json_object"})

    assert raised.value.param == "response_format"
