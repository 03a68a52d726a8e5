"""What an upstream says of its usage: once in the books, and in the stream only for who asked."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from conformance.seen import seen_of
from servers.running_gateway import one_model, running_gateway
from upstreams.fake_messages import ending, start, text_block
from upstreams.fake_upstream import DONE, Cut, Reply, chunk, fake_upstream, sse_reply

from gateway.settings import Telemetry


class Said(NamedTuple):
    """The chunks of an upstream, what the client asked for, and how many usages it shall see."""

    chunks: list[dict[str, Any]]
    asks: dict[str, Any]
    shown: int
    prompt_tokens: int
    completion_tokens: int


def choice(delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def usage(prompt: int, completion: int) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}}


SAID = {
    "asked for by the gateway alone": Said(
        [choice({"role": "assistant", "content": "A"}), choice({}, "stop"), {"choices": [], **usage(7, 3)}],
        {},
        0,
        7,
        3,
    ),
    "cumulative on every chunk": Said(
        [
            choice({"role": "assistant", "content": "a"}) | usage(10, 1),
            choice({"content": "b"}) | usage(10, 2),
            choice({}, "stop") | usage(10, 3),
        ],
        {"stream_options": {"include_usage": True}},
        1,
        10,
        3,
    ),
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
async def test_usage_is_booked_once_and_shown_to_who_asked(
    said: Said, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True, **said.asks}
    async with (
        fake_upstream(sse_reply(*[chunk(**fields) for fields in said.chunks], DONE)) as upstream,
        running_gateway(one_model(upstream.base), tmp_path, telemetry=Telemetry(log="json")) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        seen = seen_of(await client.post(f"{gateway.base}/v1/chat/completions", json=body))
        await gateway.until_empty()

    lines = [json.loads(text) for text in capfd.readouterr().err.splitlines() if text.startswith("{")]
    (line,) = [line for line in lines if line["event"] == "request"]
    assert upstream.last.json["stream_options"] == {"include_usage": True}
    assert len(seen.usage_events) == said.shown
    assert sum(not event["choices"] for event in seen.chunks) == said.shown
    assert (line["prompt_tokens"], line["completion_tokens"]) == (said.prompt_tokens, said.completion_tokens)


MESSAGES = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "stream": True}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
COUNTED = {"input_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 30}
PRICE = "price: {input: $1/M, cached_input: $0.10/M, cache_write: $1.25/M, output: $5/M}"


async def booked(reply: Reply, path: str, body: dict[str, Any], dialect: str, folder: Path) -> None:
    """One request to a server of `dialect` that says `reply`; its line is in the log."""
    async with (
        fake_upstream(reply) as upstream,
        running_gateway(policy_at(upstream.base, dialect), folder, telemetry=Telemetry(log="json")) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        await client.post(f"{gateway.base}{path}", json=body)
        await gateway.until_empty()


def policy_at(base: str, dialect: str) -> str:
    facts = f"at: '{base}', dialect: {dialect}, fits: {{output: 99}}, {PRICE}"
    return f"policy: 1\nmodels: {{m: {{{facts}}}}}\nroutes: [{{use: m}}]\n"


def line_of(capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    lines = [json.loads(text) for text in capfd.readouterr().err.splitlines() if text.startswith("{")]
    (line,) = [line for line in lines if line["event"] == "request"]
    return dict(line)


@pytest.mark.parametrize(("path", "body"), [("/v1/messages", MESSAGES), ("/v1/chat/completions", CHAT)])
async def test_an_answer_that_was_cut_is_booked_with_what_its_server_had_counted(
    path: str, body: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cut = sse_reply(start(**COUNTED), text_block(0, "a", "b"), Cut.RESET)

    await booked(cut, path, body, "anthropic", tmp_path)

    line = line_of(capfd)
    assert (line["prompt_tokens"], line["cached_tokens"], line["cache_written_tokens"]) == (150, 100, 30)
    assert line["completion_tokens"] == 2
    assert line["microusd"] == 78


async def test_counts_beside_each_chunk_are_the_books_of_a_chat_that_was_cut(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = [choice({"role": "assistant", "content": "a"}) | usage(10, 1), choice({"content": "b"}) | usage(10, 7)]
    cut = sse_reply(*[chunk(**fields) for fields in said], Cut.RESET)

    await booked(cut, "/v1/chat/completions", CHAT, "openai_chat", tmp_path)

    line = line_of(capfd)
    assert (line["prompt_tokens"], line["completion_tokens"]) == (10, 7)


@pytest.mark.parametrize(("path", "body"), [("/v1/messages", MESSAGES), ("/v1/chat/completions", CHAT)])
async def test_what_was_written_to_a_cache_has_a_price_of_its_own(
    path: str, body: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = sse_reply(start(**COUNTED), text_block(0, "a"), ending(output_tokens=4))

    await booked(whole, path, body, "anthropic", tmp_path)

    line = line_of(capfd)
    assert (line["prompt_tokens"], line["cached_tokens"], line["cache_written_tokens"]) == (150, 100, 30)
    assert line["microusd"] == 88
