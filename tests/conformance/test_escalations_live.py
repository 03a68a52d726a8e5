"""Escalations through the real app, as people see them: agents that are stuck, and a route that is left alone because it does
not pay."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import Script, chat_either, fake_upstream

from policies.escalate.ledger import FEWEST_JUDGED

REFUSES = "I'm sorry, but I can't help with that."
POLICY = """
policy: 1
models: {{small: {{at: '{small}/v1'}}, large: {{at: '{large}/v1'}}}}
routes: [{{use: small, escalate: up}}]
escalations: {{up: {{to: large, when: {when}{more}}}}}
"""
TOOL = {"type": "function", "function": {"name": "run", "parameters": {}}}


@asynccontextmanager
async def gateway(
    folder: Path, small: Script, large: Script, when: str, more: str = ""
) -> AsyncIterator[httpx.AsyncClient]:
    async with fake_upstream(small) as little, fake_upstream(large) as big:
        policy = POLICY.format(small=little.base, large=big.base, when=when, more=more)
        async with running_gateway(policy, folder) as made, httpx.AsyncClient(base_url=made.base, timeout=20) as client:
            yield client


def chat(*results: str) -> dict[str, Any]:
    """An agent that ran the same thing, and got these results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "make it work"}]
    for at, result in enumerate(results):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "run", "arguments": '{"cmd": "make"}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": result})
    return {"model": "auto", "messages": messages, "tools": [TOOL]}


def messages(*results: str) -> dict[str, Any]:
    turns: list[dict[str, Any]] = [{"role": "user", "content": "make it work"}]
    for at, result in enumerate(results):
        turns.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": f"c{at}", "name": "run", "input": {}}]}
        )
        found = {"type": "tool_result", "tool_use_id": f"c{at}", "content": result, "is_error": "Error" in result}
        turns.append({"role": "user", "content": [found]})
    return {"model": "auto", "max_tokens": 9, "messages": turns, "tools": [{"name": "run", "input_schema": {}}]}


WAYS = {"/v1/chat/completions": chat, "/v1/messages": messages}


@pytest.mark.parametrize("path", WAYS)
async def test_an_agent_that_is_stuck_gets_the_larger_model_until_its_history_is_gone(
    tmp_path: Path, path: str
) -> None:
    steps: list[tuple[list[str], str]] = [
        ([], "small"),
        (["Error: no rule"], "small"),
        (["Error: no rule", "Error: no rule"], "large"),
        (["Error: no rule", "Error: no rule", "built"], "large"),
        (["built", "Error: no rule", "built again"], "small"),
    ]
    async with gateway(tmp_path, chat_either("s"), chat_either("l"), "{stuck: {turns: 2}}") as client:
        for results, model in steps:
            answer = await client.post(path, json=WAYS[path](*results))
            assert answer.status_code == 200, answer.text
            assert answer.headers["x-turnout-model"] == model, results
        stuck = await client.post(path, json=WAYS[path]("Error: no rule", "Error: no rule"))

    assert stuck.headers["x-turnout-reason"] == "large: stuck for 2 turns: calls that fail, calls made before"


async def test_a_route_whose_escalations_bring_nothing_is_left_alone_and_says_so(tmp_path: Path) -> None:
    """Both decline: the larger model never has a better answer."""
    small, large = chat_either(REFUSES), chat_either("I cannot help with this.")
    async with gateway(tmp_path, small, large, "{p_correct: {under: 50%}}", ", moves: answer") as client:
        models = []
        for at in range(FEWEST_JUDGED + 3):
            body = {"model": "auto", "messages": [{"role": "user", "content": f"q {at}"}]}
            models.append((await client.post("/v1/chat/completions", json=body)).headers["x-turnout-model"])
        told = (await client.post("/v1/route", json=body)).json()["decision"]

    assert models == ["large"] * FEWEST_JUDGED + ["small"] * 3
    assert told["hold"] is None
    assert told["unheld"] == f"up does not pay: of the latest {FEWEST_JUDGED} escalations 0 got a better answer"
