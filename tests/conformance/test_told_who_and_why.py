"""The headers say who was asked and why, after a fallback and on errors too, and the request's own line agrees."""

import json
from pathlib import Path

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import chat_either, fake_upstream, unused_port

from gateway.settings import Telemetry

BODY = {"model": "auto", "messages": [{"role": "user", "content": "hi"}]}


def two_models(small: str, large: str) -> str:
    return (
        f"policy: 1\nmodels: {{small: {{at: '{small}'}}, large: {{at: '{large}'}}}}\n"
        "routes: [{name: r, use: small, fallback: [large]}]\n"
    )


@pytest.mark.parametrize("stream", [True, False])
async def test_after_a_fallback_the_reason_is_the_true_one_in_the_headers_and_in_the_log(
    stream: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with (
        fake_upstream(chat_either("ok")) as large,
        running_gateway(
            two_models(f"http://127.0.0.1:{unused_port()}", large.base), tmp_path, telemetry=Telemetry(log="json")
        ) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        answer = await client.post(f"{gateway.base}/v1/chat/completions", json={**BODY, "stream": stream})
        await gateway.until_empty()

    lines = [json.loads(text) for text in capfd.readouterr().err.splitlines() if text.startswith("{")]
    (line,) = [line for line in lines if line["event"] == "request"]
    reason = "large: fallback, small failed (connect_failed)"
    assert (answer.headers["x-turnout-model"], answer.headers["x-turnout-reason"]) == ("large", reason)
    assert (line["model"], line["reason"]) == ("large", reason)
