"""What an upstream says of its usage: once in the books, and in the stream only for who asked."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from conformance.seen import seen_of
from servers.running_gateway import one_model, running_gateway
from upstreams.fake_upstream import DONE, chunk, fake_upstream, sse_reply

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
