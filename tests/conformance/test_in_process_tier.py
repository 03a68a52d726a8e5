"""An engine in this process behind the real app: same client, same answers, and nothing runs on for nobody."""

import asyncio
import time
from hashlib import sha256
from pathlib import Path

import openai
import pytest
from engine.stub_models import Logits, PrefixModel, StubVocabulary
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam
from servers.in_process import in_process_gateway
from servers.plain_client import chat_body, connected
from servers.running_gateway import RunningGateway

from backends.engine.api import Step
from gateway.request.identity import KeyEntry

PROMPT = "a prompt of more than two blocks of sixteen tokens"
WORDS = StubVocabulary(eos=None)


class SlowModel(PrefixModel):
    """Takes its time for each step, and counts them."""

    def forward(self, step: Step) -> Logits:
        time.sleep(0.002)
        return super().forward(step)


def model() -> PrefixModel:
    return PrefixModel(blocks=512, vocab_size=64)


def asks(text: str = PROMPT) -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": text}]


def client_of(gateway: RunningGateway) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0)


async def test_whole_and_streamed_answers_agree_and_the_second_prompt_is_cached(tmp_path: Path) -> None:
    async with in_process_gateway(model(), WORDS, tmp_path) as (gateway, _), client_of(gateway) as client:
        whole = await client.chat.completions.create(model="auto", messages=asks(), temperature=0, max_tokens=9)
        stream = await client.chat.completions.create(
            model="m",
            messages=asks(),
            temperature=0,
            max_tokens=9,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]

    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert len(text.split()) == 9
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 9
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens_details is not None
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == 48


async def test_a_cached_prompt_stays_inside_its_tenant_whatever_the_body_says(tmp_path: Path) -> None:
    keys = [KeyEntry(hash=sha256(key.encode()).hexdigest(), tenant=key) for key in ("one", "two")]
    told: list[tuple[str | None, int]] = []
    async with in_process_gateway(model(), WORDS, tmp_path, keys=keys) as (gateway, _):
        for key, body in (("one", {}), ("one", {}), ("two", {"cache_salt": "one", "user": "one"}), ("two", {})):
            async with AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key=key, max_retries=0) as client:
                answer = await client.chat.completions.create(
                    model="auto", messages=asks(), temperature=0, max_tokens=5, extra_body=body
                )
            assert answer.usage is not None
            assert answer.usage.prompt_tokens_details is not None
            told.append((answer.choices[0].message.content, answer.usage.prompt_tokens_details.cached_tokens or 0))

    assert len({text for text, _ in told}) == 1
    assert [cached for _, cached in told] == [0, 48, 0, 48]


async def test_an_overflow_names_the_numbers_before_anything_runs(tmp_path: Path) -> None:
    async with in_process_gateway(model(), WORDS, tmp_path) as (gateway, upstream), client_of(gateway) as client:
        with pytest.raises(openai.BadRequestError) as raised:
            await client.chat.completions.create(model="m", messages=asks("x" * 500), max_tokens=20)

        assert upstream.load().running == 0

    assert raised.value.code == "context_length_exceeded"
    assert raised.value.param == "messages"
    assert all(number in raised.value.message for number in ("512", "520", "500", "20"))


async def test_tools_that_a_model_cannot_use_are_refused_by_name(tmp_path: Path) -> None:
    async with in_process_gateway(model(), WORDS, tmp_path) as (gateway, _), client_of(gateway) as client:
        with pytest.raises(openai.BadRequestError) as raised:
            await client.chat.completions.create(
                model="m", messages=asks(), tools=[{"type": "function", "function": {"name": "f"}}]
            )

    assert raised.value.param == "tools"


async def test_sixty_four_at_once_are_all_answered(tmp_path: Path) -> None:
    async with in_process_gateway(model(), WORDS, tmp_path) as (gateway, upstream), client_of(gateway) as client:
        completions = client.chat.completions
        asked = [completions.create(model="auto", messages=asks(), temperature=0, max_tokens=5) for _ in range(64)]
        answers = await asyncio.gather(*asked)

        await gateway.until_empty()
        load = upstream.engine.load()

    assert len({answer.choices[0].message.content for answer in answers}) == 1
    assert (load.running, load.waiting, load.free_blocks) == (0, 0, load.total_blocks)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_stops_the_engine_and_frees_its_blocks(stream: bool, tmp_path: Path) -> None:
    slow = SlowModel(blocks=64, vocab_size=64)
    async with in_process_gateway(slow, WORDS, tmp_path) as (gateway, upstream):
        async with connected(gateway.port) as client:
            await client.ask(chat_body(stream=stream, text=PROMPT))
            begun = len(slow.rows)
            await gateway.until(lambda _: len(slow.rows) > begun + 5)

            client.kill()
            await gateway.until_empty(1.0)

        await gateway.until(lambda _: upstream.engine.load().running == 0, 1.0)
        stopped_at = len(slow.rows)
        load = upstream.engine.load()
        await asyncio.sleep(0.05)

    assert len(slow.rows) <= stopped_at + 1
    assert len(slow.rows) < 400
    assert load.free_blocks == load.total_blocks
