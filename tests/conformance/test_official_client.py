"""The official OpenAI client cannot tell the gateway from the real thing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageParam
from servers.running_gateway import RunningGateway, one_model, running_gateway
from upstreams.fake_upstream import FakeUpstream, chat_either, fake_upstream, json_reply

HI: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with fake_upstream(chat_either("Hel", "lo")) as upstream:
        yield upstream


@pytest.fixture
async def gateway(upstream: FakeUpstream, tmp_path: Path) -> AsyncIterator[RunningGateway]:
    async with running_gateway(one_model(upstream.base), tmp_path) as gateway:
        yield gateway


@pytest.fixture
async def client(gateway: RunningGateway) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0) as client:
        yield client


async def test_a_whole_answer_reads_as_one(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="auto", messages=HI)

    assert answer.choices[0].message.content == "Hello"
    assert answer.model == "m"
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 7


async def test_a_stream_reads_as_one(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="auto", messages=HI, stream=True)

    text = [chunk.choices[0].delta.content or "" async for chunk in stream]

    assert "".join(text) == "Hello"


async def test_a_stream_shows_usage_to_who_asks(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="m", messages=HI, stream=True, stream_options={"include_usage": True}
    )

    chunks = [chunk async for chunk in stream]

    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 9


async def test_the_headers_tell_who_answered_and_why(client: AsyncOpenAI, gateway: RunningGateway) -> None:
    raw = await client.chat.completions.with_raw_response.create(model="m", messages=HI)

    assert raw.headers["x-turnout-model"] == "m"
    assert raw.headers["x-turnout-route"] == "pinned"
    assert "asked for by name" in raw.headers["x-turnout-reason"]
    assert raw.headers["x-turnout-policy"] == gateway.gateway.live.policy.hash
    assert raw.headers["x-turnout-request-id"].startswith("req_")


async def test_an_unknown_model_raises_not_found(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as raised:
        await client.chat.completions.create(model="gpt-99", messages=HI)

    assert raised.value.code == "model_not_found"
    assert raised.value.param == "model"


async def test_models_are_listed(client: AsyncOpenAI) -> None:
    listed = [model.id async for model in client.models.list()]

    assert listed == ["auto", "m"]
    assert (await client.models.retrieve("m")).id == "m"


async def test_the_synchronous_client_works_too(gateway: RunningGateway) -> None:
    def ask() -> tuple[str | None, str]:
        with OpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0) as client:
            whole = client.chat.completions.create(model="auto", messages=HI).choices[0].message.content
            stream = client.chat.completions.create(model="auto", messages=HI, stream=True)
            return whole, "".join(chunk.choices[0].delta.content or "" for chunk in stream)

    assert await asyncio.to_thread(ask) == ("Hello", "Hello")


async def test_the_client_retries_what_it_is_told_to_and_nothing_else(tmp_path: Path) -> None:
    refusal = json_reply({"error": {"message": "bad key"}}, 401)
    async with fake_upstream(refusal) as upstream, running_gateway(one_model(upstream.base), tmp_path) as gateway:
        async with AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=2) as client:
            with pytest.raises(openai.InternalServerError):
                await client.chat.completions.create(model="m", messages=HI)

        assert len(upstream.received) == 1
