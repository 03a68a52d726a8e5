"""Engine cases ENG-01 to ENG-11 as a client sees them: bodies in, answers out, through the whole app."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from engine.stub_models import (
    BagModel,
    FixedDrafter,
    FreeRows,
    Logits,
    OracleDrafter,
    PrefixModel,
    ScriptModel,
    StubVocabulary,
)
from servers.in_process import engine_of, gateway_around
from servers.plain_client import connected
from servers.running_gateway import RunningGateway

from backends.engine.api import LanguageModel, Step
from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.draft.drafter import Drafter
from backends.engine.speculate import Speculator
from backends.engine.upstream.local import LocalUpstream

PROMPT = "hi"
PROMPT_IDS = (3 + ord("h") % 50, 3 + ord("i") % 50)


@dataclass
class Seen:
    """One choice of an answer, whole or put together from its events."""

    text: str = ""
    finish: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    logprobs: list[Any] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    fingerprint: str = ""


@dataclass
class House:
    gateway: RunningGateway
    upstream: LocalUpstream
    client: httpx.AsyncClient

    async def ask(self, **body: Any) -> Seen:
        full = {"model": "m", "messages": [{"role": "user", "content": PROMPT}], "temperature": 0, **body}
        if full.get("stream"):
            full["stream_options"] = {"include_usage": True}
        answer = await self.client.post(f"{self.gateway.base}/v1/chat/completions", json=full)
        assert answer.status_code == 200, answer.text
        return streamed(answer.text) if full.get("stream") else whole(answer.json())

    async def both(self, **body: Any) -> Seen:
        """Asked whole and streamed, which must come to the same."""
        one, other = await self.ask(**body), await self.ask(**body, stream=True)
        assert (one.text, one.finish, one.logprobs) == (other.text, other.finish, other.logprobs)
        assert one.usage["completion_tokens"] == other.usage["completion_tokens"]
        return other

    async def until_empty(self) -> None:
        await self.gateway.until(lambda _: self.upstream.engine.load().running == 0)
        load = self.upstream.engine.load()
        assert (load.waiting, load.free_blocks) == (0, load.total_blocks)


def whole(answer: Mapping[str, Any]) -> Seen:
    [choice] = answer["choices"]
    logprobs = (choice["logprobs"] or {}).get("content") or []
    text = choice["message"]["content"] or ""
    return Seen(text, choice["finish_reason"], answer["usage"], logprobs, [text], answer["system_fingerprint"])


def streamed(events: str) -> Seen:
    seen = Seen()
    for line in events.splitlines():
        if not line.startswith("data: {"):
            continue
        chunk = json.loads(line.removeprefix("data: "))
        seen.usage = chunk.get("usage") or seen.usage
        seen.fingerprint = chunk["system_fingerprint"]
        for choice in chunk["choices"]:
            seen.pieces.append(choice["delta"].get("content") or "")
            seen.finish = choice["finish_reason"] or seen.finish
            seen.logprobs += (choice.get("logprobs") or {}).get("content") or []
    seen.text = "".join(seen.pieces)
    assert events.endswith("data: [DONE]\n\n")
    return seen


def batch_of(model: LanguageModel, vocabulary: StubVocabulary, drafter: Drafter | None = None) -> Batch:
    """With a drafter every draft that is offered is verified."""
    return Batch(
        model,
        vocabulary,
        revision="r",
        budget=Budget(),
        clock=lambda: 0.0,
        speculator=Speculator(drafter, 5, FreeRows(), lambda: 0.0) if drafter else None,
    )


@asynccontextmanager
async def house(build: Callable[[], Batch], vocabulary: StubVocabulary, folder: Path) -> AsyncIterator[House]:
    upstream = engine_of(build, vocabulary)
    async with gateway_around(upstream, folder) as gateway, httpx.AsyncClient(timeout=20) as client:
        await gateway.until(lambda _: upstream.load().ready)
        made = House(gateway, upstream, client)
        yield made
        await made.until_empty()


def scripted(script: Sequence[int], pieces: Mapping[int, str], folder: Path, *, draft: bool = False) -> Any:
    vocabulary = StubVocabulary(pieces, eos=0)
    drafter: Drafter | None = OracleDrafter({PROMPT_IDS: script}) if draft else None

    def build() -> Batch:
        model = ScriptModel(script, prompt=len(PROMPT_IDS))
        return batch_of(model, vocabulary, drafter)

    return house(build, vocabulary, folder)


async def test_eng_01_a_stop_string_over_three_tokens_never_shows_not_even_its_start(tmp_path: Path) -> None:
    pieces = {1: "alpha ", 2: "be", 3: "ta ga", 4: "mma", 5: " delta"}
    async with scripted([1, 2, 3, 4, 5], pieces, tmp_path) as here:
        as_list = await here.both(stop=["beta gamma"])
        as_text = await here.both(stop="beta gamma")
        asked = {"model": "m", "max_tokens": 32, "messages": [{"role": "user", "content": PROMPT}], "temperature": 0}
        message = await here.client.post(
            f"{here.gateway.base}/v1/messages", json={**asked, "stop_sequences": ["beta gamma"]}
        )

    told = message.json()
    assert (told["stop_reason"], told["stop_sequence"]) == ("stop_sequence", "beta gamma")
    for seen in (as_list, as_text):
        assert (seen.text, seen.finish, seen.usage["completion_tokens"]) == ("alpha ", "stop", 4)
        assert not any("b" in piece for piece in seen.pieces)


@pytest.mark.parametrize(
    ("script", "body", "text", "finish"),
    [
        ([1, 2, 0], {}, "xbe", "stop"),
        ([1, 2, 0], {"max_tokens": 2}, "xbe", "length"),
        ([1, 2, 3, 0], {}, "xbed", "stop"),
    ],
)
async def test_eng_02_held_back_text_that_does_not_become_a_stop_is_delivered(
    script: list[int], body: dict[str, Any], text: str, finish: str, tmp_path: Path
) -> None:
    async with scripted(script, {1: "x", 2: "be", 3: "d"}, tmp_path) as here:
        seen = await here.both(stop=["beta"], **body)

    assert (seen.text, seen.finish) == (text, finish)


@pytest.mark.parametrize("draft", [False, True])
async def test_eng_03_an_end_inside_an_accepted_draft_wins_over_the_cap_and_the_cap_holds(
    draft: bool, tmp_path: Path
) -> None:
    pieces = {10: "a", 11: "b", 20: "x", 21: "y", 22: "z"}
    bodies: list[dict[str, Any]] = [{"max_tokens": n} for n in (5, 2, 1)] + [{"max_tokens": 5, "stop": ["b"]}]
    async with scripted([10, 11, 0, 20, 21, 22], pieces, tmp_path, draft=draft) as here:
        seen = [await here.both(**body, logprobs=True) for body in bodies]
        drafted = here.upstream.engine.stats().accepted

    assert [one.text for one in seen] == ["ab", "ab", "a", "a"]
    assert [one.finish for one in seen] == ["stop", "length", "length", "stop"]
    assert [one.usage["completion_tokens"] for one in seen] == [3, 2, 1, 2]
    assert [len(one.logprobs) for one in seen] == [2, 2, 1, 1]
    assert (drafted > 0) == draft


@pytest.mark.parametrize("draft", [None, [1, 1, 1]])
async def test_eng_05_penalties_and_bias_act_the_same_with_drafts(draft: list[int] | None, tmp_path: Path) -> None:
    vocabulary = StubVocabulary({1: "A", 2: "B", 3: "C"})
    bodies: list[dict[str, Any]] = [
        {"max_tokens": 6},
        {"max_tokens": 6, "presence_penalty": 1.0},
        {"max_tokens": 6, "frequency_penalty": 1.0},
        {"max_tokens": 6, "logit_bias": {"1": -100}},
        {"max_tokens": 3, "logit_bias": {"3": 1.0}},
    ]

    def build() -> Batch:
        model = BagModel({1: 2.0, 2: 1.5, 3: 1.2})
        return batch_of(model, vocabulary, FixedDrafter(draft) if draft else None)

    async with house(build, vocabulary, tmp_path) as here:
        texts = [(await here.both(**body)).text for body in bodies]

    assert texts == ["AAAAAA", "ABCAAA", "ABCABC", "BBBBBB", "CCC"]


class SlowModel(PrefixModel):
    """So slow that requests which are sent together run together."""

    def forward(self, step: Step) -> Logits:
        time.sleep(0.002)
        return super().forward(step)


def random_house(folder: Path, *, blocks: int = 64) -> Any:
    vocabulary = StubVocabulary({token: f"{token} " for token in range(64)}, eos=None)
    return house(lambda: batch_of(SlowModel(blocks=blocks, vocab_size=64), vocabulary), vocabulary, folder)


async def test_eng_06_a_seed_fixes_the_answer_whatever_else_is_in_the_batch(tmp_path: Path) -> None:
    seeded = {"seed": 42, "temperature": 0.8, "max_tokens": 16}
    async with random_house(tmp_path) as here:
        alone = await here.ask(**seeded)
        twice = await asyncio.gather(here.ask(**seeded), here.ask(**seeded))
        beside = await asyncio.gather(here.ask(**seeded), here.ask(temperature=0.8, max_tokens=16))
        other = await asyncio.gather(here.ask(**seeded), here.ask(**{**seeded, "seed": 7}))
        different = await here.ask(**{**seeded, "seed": 43})

    assert {one.text for one in (*twice, beside[0], other[0])} == {alone.text}
    assert alone.text not in (different.text, other[1].text)
    assert alone.fingerprint


async def test_eng_07_preemption_changes_timing_only(tmp_path: Path) -> None:
    asked = [{"messages": [{"role": "user", "content": letter * 34}], "max_tokens": 35} for letter in "xy"]
    async with random_house(tmp_path, blocks=7) as here:
        alone = [await here.ask(**body) for body in asked]
        together = await asyncio.gather(*(here.ask(**body, stream=True) for body in asked))
        preempted = here.upstream.engine.stats().preemptions

    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.finish for one in together] == ["length", "length"]
    assert preempted >= 1


async def test_eng_08_a_hundred_requests_that_are_left_at_any_moment_leave_nothing(tmp_path: Path) -> None:
    async with random_house(tmp_path) as here:
        before = await here.ask(max_tokens=4)
        for number in range(100):
            body = {"model": "m", "messages": [{"role": "user", "content": "x" * 60}], "stream": number % 2 == 0}
            async with connected(here.gateway.port) as client:
                await client.ask(json.dumps(body).encode())
                await asyncio.sleep(number % 5 * 0.002)
                client.kill()
        await here.gateway.until_empty()
        await here.until_empty()

        assert (await here.ask(max_tokens=4)).text == before.text


async def test_eng_10_a_prefix_cache_hit_changes_no_result(tmp_path: Path) -> None:
    prompt = {"messages": [{"role": "user", "content": "p" * 50}], "max_tokens": 8}
    greedy = {**prompt, "logprobs": True, "top_logprobs": 2}
    sampled = {**prompt, "seed": 42, "temperature": 0.8}
    other = {**prompt, "stop": ["never"], "presence_penalty": 0.5, "logit_bias": {"3": 1}}
    async with random_house(tmp_path) as here:
        seen = [await here.ask(**body) for body in (greedy, greedy, sampled, sampled, other)]

    assert [one.usage["prompt_tokens_details"]["cached_tokens"] for one in seen] == [0, 48, 48, 48, 48]
    assert (seen[0].text, seen[0].logprobs) == (seen[1].text, seen[1].logprobs)
    assert seen[2].text == seen[3].text
    assert len(seen[0].logprobs) == 8


async def test_eng_11_logprobs_have_the_chat_shape_with_and_without_alternatives(tmp_path: Path) -> None:
    async with scripted([1, 2, 0], {1: "Hello", 2: "!"}, tmp_path) as here:
        plain = await here.both(logprobs=True)
        rich = await here.both(logprobs=True, top_logprobs=2)
        refused = await here.client.post(
            f"{here.gateway.base}/v1/chat/completions",
            json={"model": "m", "messages": [{"role": "user", "content": "hi"}], "top_logprobs": 2},
        )

    assert [(entry["token"], entry["bytes"], entry["top_logprobs"]) for entry in plain.logprobs] == [
        ("Hello", list(b"Hello"), []),
        ("!", list(b"!"), []),
    ]
    assert all(entry["logprob"] <= 0 for entry in plain.logprobs)
    for entry in rich.logprobs:
        first, second = (top["logprob"] for top in entry["top_logprobs"])
        assert first >= second
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "top_logprobs")
