"""Clients that ask for thinking, as their own libraries and agents do, before models that may not think: none is refused, and
none is left in the dark."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from anthropic import APIStatusError, AsyncAnthropic
from openai import AsyncOpenAI
from servers.running_gateway import RunningGateway, one_model, running_gateway
from test_anthropic_client import calls_twice
from upstreams.fake_upstream import (
    FakeUpstream,
    chat_either,
    event,
    fake_upstream,
    finish_chunk,
    sse_reply,
    text_chunk,
)

from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord
from gateway.settings import Decisions, Telemetry

LEFT_OUT = "x-turnout-left-out"

AGENT: dict[str, Any] = {
    "model": "claude-large",
    "max_tokens": 32_000,
    "system": [
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1"},
        {"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "<system-reminder>today</system-reminder>"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "I look.", "signature": "c2ln"},
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py", "is_error": False},
            {"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}},
        ]},
    ],
    "tools": [{"name": "Bash", "description": "d", "input_schema": {"type": "object", "properties": {
        "command": {"type": "string"}}}, "cache_control": {"type": "ephemeral"}}],
    "metadata": {"user_id": json.dumps({"device_id": "0f" * 32, "account_uuid": "", "session_id": "5" * 36})},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
}  # fmt: skip
BETAS = "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27"


async def told_by_agent(client: AsyncAnthropic, **thinking: Any) -> Any:
    """As the agent asks: streamed, through the part of the library for betas."""
    raw = client.beta.messages.with_streaming_response
    asked = {**AGENT, **thinking, "stream": True}
    async with raw.create(**asked, extra_headers={"anthropic-beta": BETAS}) as answer:
        return answer.headers, b"".join([piece async for piece in answer.iter_bytes()])


def thinking_model(upstream: FakeUpstream, **more: Any) -> str:
    model = {"at": f"{upstream.base}/v1", "serves": "theirs", **more}
    return json.dumps({"policy": 1, "models": {"claude-large": model}, "routes": [{"use": "claude-large"}]})


def client_of(gateway: RunningGateway) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=gateway.base, api_key="any", max_retries=0)


async def test_an_agent_that_thinks_is_answered_by_a_server_of_another_dialect(tmp_path: Path) -> None:
    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "Bash", "arguments": '{"command":"cat"}'},
    }
    chunks = [
        text_chunk("Hi"),
        event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}),
    ]
    reply = sse_reply(*chunks, finish_chunk("tool_calls"), b"data: [DONE]\n\n")
    async with (
        fake_upstream(reply) as upstream,
        running_gateway(thinking_model(upstream), tmp_path) as gateway,
        client_of(gateway) as client,
    ):
        by_budget, told = await told_by_agent(client, thinking={"type": "enabled", "budget_tokens": 31_999})
        as_it_sees_fit, _ = await told_by_agent(client, thinking={"type": "adaptive"})

    assert b'"name":"Bash"' in told
    assert told.count(b"event: message_stop") == 1
    assert (by_budget[LEFT_OUT], LEFT_OUT in as_it_sees_fit) == ("thinking", False)
    for got in upstream.received:
        sent = got.json
        assert sent["model"] == "theirs"
        assert not {"thinking", "reasoning_effort", "context_management", "metadata", "cache_control"} & sent.keys()
        assert "cache_control" not in got.body.decode()
        assert len(sent["user"]) == 64
        assert [turn["role"] for turn in sent["messages"]] == ["system", "user", "assistant", "tool", "user"]
        assert "anthropic-beta" not in got.headers


async def test_a_model_that_is_known_to_think_is_told_how_much(tmp_path: Path) -> None:
    async with (
        fake_upstream(chat_either("ok")) as upstream,
        running_gateway(thinking_model(upstream, can=["tools", "reasoning"]), tmp_path) as gateway,
        client_of(gateway) as client,
    ):
        headers, _ = await told_by_agent(client, thinking={"type": "enabled", "budget_tokens": 10_000})

    assert upstream.received[0].json["reasoning_effort"] == "medium"
    assert LEFT_OUT not in headers


async def test_an_agent_that_asks_how_long_its_prompt_is_hears_that_nobody_can_tell_and_goes_on(tmp_path: Path) -> None:
    measured = {name: AGENT[name] for name in ("model", "system", "messages", "tools")}
    async with (
        fake_upstream(chat_either("ok")) as upstream,
        running_gateway(thinking_model(upstream), tmp_path) as gateway,
        client_of(gateway) as client,
    ):
        with pytest.raises(APIStatusError) as raised:
            await client.messages.count_tokens(**measured, thinking={"type": "enabled", "budget_tokens": 1_024})
        headers, _ = await told_by_agent(client, thinking={"type": "adaptive"})

    assert (raised.value.status_code, raised.value.response.headers["x-should-retry"]) == (501, "false")
    assert headers["x-turnout-model"] == "claude-large"


async def test_an_engine_here_answers_and_says_that_it_heeds_no_such_word(tmp_path: Path) -> None:
    hi = [{"role": "user", "content": "hi"}]
    async with calls_twice(tmp_path) as gateway:
        clients = client_of(gateway), AsyncOpenAI(base_url=f"{gateway.base}/v1", api_key="any", max_retries=0)
        async with clients[0] as messages, clients[1] as openai:
            thinks: Any = {"type": "enabled", "budget_tokens": 1_024}
            answers = [
                await messages.messages.with_raw_response.create(
                    model="m", max_tokens=50, messages=hi, thinking=thinks
                ),
                await openai.chat.completions.with_raw_response.create(model="m", messages=hi, reasoning_effort="low"),
                await openai.responses.with_raw_response.create(model="m", input="hi", reasoning={"effort": "low"}),
            ]
            counted = await messages.messages.count_tokens(model="m", messages=hi, thinking=thinks)
            plain = await messages.messages.with_raw_response.create(model="m", max_tokens=50, messages=hi)

    assert [answer.headers.get(LEFT_OUT) for answer in (*answers, plain)] == ["thinking"] * 3 + [None]
    assert counted.input_tokens > 0


async def test_what_was_left_out_stands_in_the_log_of_requests_and_in_that_of_decisions(
    tmp_path: Path, capsys: Any
) -> None:
    policy = one_model("http://a").replace("{at:", "{thinking: drop, at:")
    body = {"model": "auto", "messages": [{"role": "user", "content": "hi"}]}
    settings: dict[str, Any] = {"telemetry": Telemetry(log="json"), "decisions": Decisions(dir=tmp_path / "log")}
    async with (
        fake_upstream(chat_either("ok")) as upstream,
        running_gateway(policy.replace("http://a", upstream.base), tmp_path, **settings) as gateway,
        httpx.AsyncClient(base_url=gateway.base) as client,
    ):
        explained = await client.post("/v1/route", json={**body, "reasoning_effort": "low"})
        shown = await client.post(
            "/v1/route", json={**body, "reasoning_effort": "low"}, headers={"accept": "text/plain"}
        )
        for asked in ({**body, "reasoning_effort": "low"}, body):
            await client.post("/v1/chat/completions", json=asked)

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith('{"request_id"')]
    records = [record for record in read_log(tmp_path / "log") if isinstance(record, DecisionRecord)]
    assert [line.get("left_out") for line in lines if line["dialect"] == "openai_chat" and line["attempts"]] == [
        "thinking",
        None,
    ]
    assert [(record.facts.thinking, record.decision.untold) for record in records] == [("words", ("m",)), ("", ())]
    assert explained.json()["decision"]["untold"] == ["m"]
    assert "thinking  not told how much to think: m" in shown.text
