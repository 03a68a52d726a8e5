"""The headers say who was asked and why, after a fallback and on errors too, and the request's own line agrees."""

import json
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import chat_either, fake_upstream, json_reply, unused_port

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


class Refused(NamedTuple):
    """A request of the policy's one model, at an address where nobody is, and what comes of it."""

    model: str
    asked: dict[str, object]
    status: int
    words: str
    headers: dict[str, str | None]


REFUSED = {
    "a prompt that fits nowhere": Refused(
        "{at: 'GONE', fits: {context: 16}}",
        {"max_tokens": 100},
        400,
        "16",
        {"x-turnout-route": "r", "x-turnout-model": None},
    ),
    "a name that nobody has": Refused(
        "{at: 'GONE'}", {"model": "x"}, 404, "'x'", {"x-turnout-route": "", "x-turnout-model": None}
    ),
    "nobody there": Refused(
        "{at: 'GONE'}",
        {},
        502,
        "The upstream of model 'm' cannot be reached.",
        {"x-turnout-route": "r", "x-turnout-model": "m", "x-turnout-reason": "m: route r uses it"},
    ),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("stream", [True, False])
async def test_an_error_after_a_decision_says_by_which_route_and_why(
    refused: Refused, stream: bool, tmp_path: Path
) -> None:
    gone = f"127.0.0.1:{unused_port()}"
    policy = f"policy: 1\nmodels: {{m: {refused.model}}}\nroutes: [{{name: r, use: m}}]\n"
    async with (
        running_gateway(policy.replace("GONE", f"http://{gone}"), tmp_path) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        answer = await client.post(
            f"{gateway.base}/v1/chat/completions", json={**BODY, "stream": stream, **refused.asked}
        )

    assert answer.status_code == refused.status
    assert {name: answer.headers.get(name) for name in refused.headers} == refused.headers
    assert answer.headers["x-turnout-policy"] == gateway.gateway.live.policy.hash
    assert answer.headers["x-turnout-reason"]
    assert refused.words in answer.json()["error"]["message"]
    assert gone not in answer.text


async def test_an_error_before_a_decision_claims_none(tmp_path: Path) -> None:
    async with (
        running_gateway(two_models("http://a", "http://b"), tmp_path) as gateway,
        httpx.AsyncClient(timeout=10) as client,
    ):
        answer = await client.post(f"{gateway.base}/v1/chat/completions", content=b"{")

    assert answer.status_code == 400
    assert [name for name in answer.headers if name.startswith("x-turnout")] == ["x-turnout-request-id"]


@pytest.mark.parametrize(("names", "what"), [(("m", "m"), "another replica"), (("m", "n"), "fallback")])
async def test_when_all_fail_the_last_one_is_named_with_those_before_it(
    names: tuple[str, str], what: str, tmp_path: Path
) -> None:
    busy = json_reply({"error": {"message": "busy"}}, 503)
    async with fake_upstream(busy) as one, fake_upstream(busy) as two:
        models = (
            f"m: {{at: '{one.base}'}}, n: {{at: '{two.base}'}}"
            if names[0] != names[1]
            else f"m: {{at: ['{one.base}', '{two.base}']}}"
        )
        fallback = ", fallback: [n]" if names[0] != names[1] else ""
        policy = f"policy: 1\nmodels: {{{models}}}\nroutes: [{{use: m{fallback}}}]\n"
        async with running_gateway(policy, tmp_path) as gateway, httpx.AsyncClient(timeout=10) as client:
            answer = await client.post(f"{gateway.base}/v1/chat/completions", json=BODY)

    assert len(one.received) + len(two.received) == 2
    assert answer.status_code == 503
    assert answer.headers["x-turnout-model"] == names[1]
    assert answer.headers["x-turnout-reason"].startswith(f"{names[1]}: {what}, m failed (")
