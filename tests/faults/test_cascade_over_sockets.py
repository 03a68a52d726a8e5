"""The cascade through the real gateway and real sockets: one voice, whoever speaks and whatever breaks."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.plain_client import chat_body, connected
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import (
    DONE,
    Cut,
    FakeUpstream,
    Received,
    Reply,
    Script,
    Until,
    chat_either,
    chunk,
    fake_upstream,
    finish_chunk,
    json_reply,
    sse_reply,
    text_chunk,
    usage,
)

REFUSES = "I'm sorry, but I can't help with that."
POLICY = """
policy: 1
models:
  small: {{at: '{small}/v1', can: [logprobs], price: {{input: $1/M, output: $2/M}}}}
  large: {{at: '{large}/v1', price: {{input: $10/M, output: $20/M}}}}
routes: [{{use: small, escalate: careful}}]
escalations:
  careful: {{to: large, when: {{p_correct: {{under: 50%}}}}, hold_back: {{tokens: 4, at_most: 100ms}}{more}}}
"""


@dataclass
class Town:
    gateway: RunningGateway
    small: FakeUpstream
    large: FakeUpstream

    async def ask(self, stream: bool = True, **fields: Any) -> httpx.Response:
        body = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], "stream": stream, **fields}
        async with httpx.AsyncClient(timeout=10) as client:
            return await client.post(f"{self.gateway.base}/v1/chat/completions", json=body)


@asynccontextmanager
async def town(folder: Path, small: Script, *large: Script, more: str = "", **settings: Any) -> AsyncIterator[Town]:
    async with fake_upstream(small) as little, fake_upstream(*large) as big:
        policy = POLICY.format(small=little.base, large=big.base, more=more)
        async with running_gateway(policy, folder, **settings) as gateway:
            yield Town(gateway, little, big)
            await gateway.until_empty()


def words(response: httpx.Response) -> str:
    """The text of a stream, which has exactly one end."""
    assert response.text.count("data: [DONE]") == 1
    events = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line.startswith("data: {")]
    choices = [choice for event in events for choice in json.loads(event).get("choices", ())]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def told(text: str, logprob: float) -> bytes:
    logprobs = {"content": [{"token": text, "logprob": logprob, "bytes": None, "top_logprobs": []}]}
    return chunk(choices=[{"index": 0, "delta": {"content": text}, "logprobs": logprobs, "finish_reason": None}])


def with_logprobs(logprob: float, *texts: str) -> Reply:
    return sse_reply(*[told(text, logprob) for text in texts], finish_chunk(), DONE)


async def test_a_good_answer_flows_and_the_large_model_never_hears_of_it(tmp_path: Path) -> None:
    async with town(tmp_path, chat_either("All ", "is ", "well ", "here ", "today"), chat_either("no")) as world:
        response = await world.ask()

        assert words(response) == "All is well here today"
        assert response.headers["x-turnout-model"] == "small"
        assert world.large.received == []


@pytest.mark.parametrize("stream", [True, False])
async def test_a_refusal_is_never_seen_and_the_large_model_answers(tmp_path: Path, stream: bool) -> None:
    async with town(tmp_path, chat_either(REFUSES), chat_either("Of ", "course")) as world:
        response = await world.ask(stream)

        assert "sorry" not in response.text
        text = words(response) if stream else response.json()["choices"][0]["message"]["content"]
        assert text == "Of course"
        assert response.headers["x-turnout-model"] == "large"
        assert response.headers["x-turnout-reason"].startswith("large: escalated from small (p_correct 0.05 under 0.50")
        asked = world.large.last.json
        assert (asked["messages"], "logprobs" in asked) == ([{"role": "user", "content": "hi"}], False)


async def test_doubt_in_the_first_tokens_escalates_and_the_abandoned_stream_is_closed_at_once(tmp_path: Path) -> None:
    doubtful = sse_reply(*[told(text, -3.5) for text in ("Per", "haps", " it", " is")], Until(asyncio.Event()))
    async with town(tmp_path, doubtful, chat_either("Certainly")) as world:
        asking = asyncio.create_task(world.ask())
        await world.large.until(lambda seen: len(seen.received) == 1)

        await asyncio.wait_for(world.small.last.closed.wait(), 0.1)

        assert words(await asking) == "Certainly"
        assert "an unlikely stretch" in (await asking).headers["x-turnout-reason"]


async def test_probabilities_are_asked_of_the_small_model_and_shown_to_nobody_who_did_not_ask(tmp_path: Path) -> None:
    async with town(tmp_path, with_logprobs(-0.1, "a", "b", "c", "d", "e", "f"), chat_either("no")) as world:
        response = await world.ask()

        assert world.small.last.json["logprobs"] is True
        assert words(response) == "abcdef"
        assert '"logprob"' not in response.text


async def test_probabilities_that_the_client_asked_for_are_shown(tmp_path: Path) -> None:
    async with town(tmp_path, with_logprobs(-0.1, "a", "b"), chat_either("no")) as world:
        response = await world.ask(logprobs=True)

        assert response.text.count('"logprob":-0.1') == 2


async def test_a_silent_stretch_ends_the_window_and_what_was_said_is_sent(tmp_path: Path) -> None:
    more = asyncio.Event()
    slow = sse_reply(text_chunk("Let "), text_chunk("me "), Until(more), text_chunk("see"), finish_chunk(), DONE)
    async with town(tmp_path, slow, chat_either("no")) as world, connected(world.gateway.port) as client:
        await client.ask(chat_body(stream=True, model="auto"))

        await asyncio.wait_for(client.until(b'"content":"me "'), 2)

        more.set()
        await asyncio.wait_for(client.until(b"[DONE]"), 2)


@pytest.mark.parametrize("stream", [True, False])
async def test_when_the_large_model_fails_the_whole_answer_that_was_kept_is_sent(tmp_path: Path, stream: bool) -> None:
    busy = json_reply({"error": {"message": "busy"}}, 503)
    async with town(tmp_path, chat_either("I'm sorry, ", "I can't help"), busy) as world:
        response = await world.ask(stream)

        assert response.status_code == 200
        assert response.headers["x-turnout-model"] == "small"
        assert response.headers["x-turnout-reason"] == "small: fallback, large failed (status 503)"
        assert "I'm sorry" in (words(response) if stream else response.text)
        assert len(world.small.received) == 1


async def test_when_the_large_model_fails_after_a_part_was_given_up_the_small_one_is_asked_again(
    tmp_path: Path,
) -> None:
    def answer(got: Received) -> Reply:
        pieces = [told(text, -3.5) for text in ("Per", "haps", " it", " is", " so")]
        return sse_reply(*pieces, finish_chunk(), DONE)

    async with town(tmp_path, answer, json_reply({"error": {"message": "no"}}, 400)) as world:
        response = await world.ask()

        assert words(response) == "Perhaps it is so"
        assert response.headers["x-turnout-model"] == "small"
        assert len(world.small.received) == 2


async def test_a_small_model_that_dies_inside_the_window_is_followed_by_the_large_one(tmp_path: Path) -> None:
    async with town(tmp_path, sse_reply(text_chunk("So "), Cut.RESET), chat_either("Here")) as world:
        response = await world.ask()

        assert words(response) == "Here"
        assert response.headers["x-turnout-reason"] == "large: fallback, small failed (stream_cut)"


async def test_a_client_that_leaves_inside_the_window_ends_the_small_answer_and_asks_nobody_else(
    tmp_path: Path,
) -> None:
    silent = sse_reply(text_chunk("So "), Until(asyncio.Event()))
    async with town(tmp_path, silent, chat_either("no"), more="") as world:
        async with connected(world.gateway.port) as client:
            await client.ask(chat_body(stream=True, model="auto"))
            await world.small.until(lambda seen: len(seen.received) == 1)
            client.kill()
            await asyncio.wait_for(world.small.last.closed.wait(), 1)
        await world.gateway.until_empty(1)
        assert world.large.received == []


async def test_over_the_share_the_answer_is_sent_as_it_is(tmp_path: Path) -> None:
    async with town(tmp_path, chat_either(REFUSES), chat_either("Yes"), more=", at_most: 10% of requests") as world:
        answers = [words(await world.ask()) for _ in range(30)]

    assert answers.count("Yes") <= 1 + 3
    assert answers[0] == "Yes"
    assert answers.count(REFUSES) == 30 - answers.count("Yes")


async def test_what_was_abandoned_is_charged_and_counted(tmp_path: Path) -> None:
    refusal = sse_reply(text_chunk(REFUSES), finish_chunk(), chunk(choices=[], usage=usage(100, 10)), DONE)
    answer = sse_reply(text_chunk("Yes"), finish_chunk(), chunk(choices=[], usage=usage(100, 20)), DONE)
    async with town(tmp_path, refusal, answer) as world:
        await world.ask()
        page = world.gateway.gateway.observer.metrics_page().decode()

    spend = sum(
        float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith("router_spend_microusd")
    )
    assert spend == (100 * 1 + 10 * 2) + (100 * 10 + 20 * 20)


async def test_more_choices_than_one_are_not_held_back(tmp_path: Path) -> None:
    async with town(tmp_path, chat_either(REFUSES), chat_either("Yes")) as world:
        response = await world.ask(False, n=2)

        assert response.headers["x-turnout-model"] == "small"
        assert world.large.received == []


@pytest.mark.parametrize("stream", [True, False])
async def test_doubt_escalates_behind_the_messages_dialect_too_and_its_client_sees_one_voice(
    tmp_path: Path, stream: bool
) -> None:
    doubtful = with_logprobs(-3.5, "Per", "haps", " it", " is", " so") if stream else chat_either(REFUSES)
    async with town(tmp_path, doubtful, chat_either("Of ", "course")) as world:
        body = {"model": "auto", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "stream": stream}
        async with httpx.AsyncClient(timeout=10) as client:
            response = await client.post(f"{world.gateway.base}/v1/messages", json=body)

        assert world.small.last.json["logprobs"] is True
        assert "logprobs" not in world.large.last.json
        assert "".join(message_texts(response)) == "Of course"
        assert response.text.count('"type":"message_stop"') == stream
        assert response.headers["x-turnout-reason"].startswith("large: escalated from small")


def message_texts(response: httpx.Response) -> list[str]:
    if response.headers["content-type"] == "application/json":
        return [block["text"] for block in response.json()["content"]]
    events = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]
    return [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]


WAYS_TO_ASK: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "hi"}]},
    "/v1/completions": {"prompt": "hi"},
    "/v1/responses": {"input": "hi"},
    "/v1/messages": {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 64},
}
SOON = {"limits": {"silence_s": 0.03}}


async def bytes_and_head(world: Town, path: str, *, until: bytes, then: asyncio.Event) -> tuple[bytes, httpx.Response]:
    """All that a stream says; `then` is set once it has said `until`."""
    body, said = {"model": "auto", "stream": True, **WAYS_TO_ASK[path]}, b""
    async with (
        httpx.AsyncClient(timeout=10) as client,
        client.stream("POST", f"{world.gateway.base}{path}", json=body) as response,
    ):
        async for part in response.aiter_bytes():
            said += part
            if until in said:
                then.set()
    return said, response


@pytest.mark.parametrize("path", WAYS_TO_ASK)
@pytest.mark.parametrize("slow", ["small", "large"])
async def test_who_waits_for_a_held_answer_is_shown_life_and_then_hears_one_voice(
    tmp_path: Path, path: str, slow: str
) -> None:
    """Whichever of the two takes its time."""
    go_on = asyncio.Event()
    late = Until(go_on)
    small = sse_reply(*([late] if slow == "small" else []), text_chunk(REFUSES), finish_chunk(), DONE)
    large = sse_reply(*([late] if slow == "large" else []), text_chunk("Of course"), finish_chunk(), DONE)
    async with town(tmp_path, small, large, **SOON) as world:
        said, response = await bytes_and_head(world, path, until=b": keep-alive\n\n", then=go_on)

    assert said.startswith(b": keep-alive\n\n")
    assert b"Of course" in said
    assert b"sorry" not in said
    assert b'"model":"large"' in said.replace(b'": "', b'":"')
    assert "x-turnout-model" not in response.headers
    assert response.headers["x-turnout-route"]


@pytest.mark.parametrize("path", WAYS_TO_ASK)
async def test_what_fails_after_a_sign_of_life_fails_in_words_and_never_looks_like_success(
    tmp_path: Path, path: str
) -> None:
    """The head told 200 already, so the error is in the stream; the books tell it as what it is."""
    go_on = asyncio.Event()
    broken = sse_reply(Until(go_on), Cut.RESET)
    async with town(tmp_path, broken, broken, **SOON) as world:
        said, response = await bytes_and_head(world, path, until=b": keep-alive\n\n", then=go_on)

    assert response.status_code == 200
    assert b'"error"' in said
    assert b"end_turn" not in said
    assert b"response.completed" not in said
    assert b'"finish_reason":"stop"' not in said


async def test_a_client_that_leaves_after_a_sign_of_life_leaves_nothing_behind(tmp_path: Path) -> None:
    never = sse_reply(Until(asyncio.Event()))
    async with town(tmp_path, never, chat_either("no"), **SOON) as world:
        body = {"model": "auto", "stream": True, **WAYS_TO_ASK["/v1/chat/completions"]}
        async with (
            httpx.AsyncClient(timeout=10) as client,
            client.stream("POST", f"{world.gateway.base}/v1/chat/completions", json=body) as response,
        ):
            assert await anext(response.aiter_bytes()) == b": keep-alive\n\n"
        await asyncio.wait_for(world.small.last.closed.wait(), 5)
