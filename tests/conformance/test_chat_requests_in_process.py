"""What a chat request may say in several ways is one prompt to an engine in this process."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from engine.stub_models import ScriptModel, StubVocabulary
from servers.in_process import engine_of, gateway_around
from servers.reading_engine import asking

from backends.engine.batch import Batch
from backends.engine.budget import Budget

CHAT = "/v1/chat/completions"
Q: dict[str, Any] = {"role": "user", "content": "What is 2+2?"}
CALLS = [{"id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
RESULT = {"role": "tool", "tool_call_id": "call_a", "content": "4"}


def called(**content: Any) -> list[dict[str, Any]]:
    return [Q, {"role": "assistant", "tool_calls": CALLS, **content}, RESULT]


ALIKE: dict[str, list[list[dict[str, Any]]]] = {
    "req_02 a list of one text": [[Q], [{"role": "user", "content": [{"type": "text", "text": Q["content"]}]}]],
    "req_03 no content beside calls": [called(content=None), called(), called(content=""), called(content=[])],
    "req_03 no calls": [
        [Q, {"role": "assistant", "content": "ok"}, Q],
        [Q, {"role": "assistant", "content": "ok", "tool_calls": []}, Q],
    ],
}


@pytest.mark.parametrize("ways", ALIKE.values(), ids=ALIKE)
async def test_ways_to_say_the_same_are_the_same_tokens(ways: list[list[dict[str, Any]]], tmp_path: Path) -> None:
    async with asking(tmp_path) as (world, _):
        answers = [await world.post(CHAT, messages=messages, max_tokens=1, temperature=0) for messages in ways]

    assert [answer.status_code for answer in answers] == [200] * len(ways)
    assert len({answer.json()["usage"]["prompt_tokens"] for answer in answers}) == 1
    cached = [answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in answers]
    assert all(cached[1:]), "the same prefix was found again"
    assert len({answer.json()["choices"][0]["message"]["content"] for answer in answers}) == 1


async def test_req_01_the_newer_name_of_the_limit_limits_too(tmp_path: Path) -> None:
    vocabulary = StubVocabulary({1: "a"}, eos=0)

    def build() -> Batch:
        return Batch(ScriptModel([1] * 10, prompt=2), vocabulary, revision="r", budget=Budget(), clock=lambda: 0.0)

    upstream = engine_of(build, vocabulary)
    async with gateway_around(upstream, tmp_path) as gateway, httpx.AsyncClient(timeout=20) as client:
        await gateway.until(lambda _: upstream.load().ready)
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 3}
        answer = (await client.post(f"{gateway.base}{CHAT}", json=body)).json()

    assert answer["usage"]["completion_tokens"] == 3
    assert (answer["choices"][0]["finish_reason"], answer["choices"][0]["message"]["content"]) == ("length", "aaa")
