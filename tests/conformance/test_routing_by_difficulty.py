"""The shipped classifier behind the real app: a conversation keeps its tier, and a system prompt moves nobody."""

from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import chat_either, fake_upstream

LRU = (
    "Write a concurrent-safe LRU cache in Go with O(1) get and put, a doubly linked list, an RWMutex and eviction. "
    "Prove that no reader sees a half-linked node."
)
AGENT = (
    "You are a coding agent. Use git, run tests, write Python, TypeScript and SQL. Think step by step about algorithms, "
    "concurrency and complexity. "
) * 11

Turns = Sequence[tuple[str, str]]

FOLLOW_UPS: list[tuple[Turns, str]] = [
    ([("user", LRU)], "large"),
    ([("user", LRU), ("assistant", "package lru ..."), ("user", "looks good, commit it")], "large"),
    ([("user", "hi"), ("assistant", "Hello!"), ("user", "thanks")], "small"),
]
SYSTEM_PROMPTS: list[tuple[Turns, str]] = [
    ([("user", "hi")], "small"),
    ([("system", AGENT), ("user", "hi")], "small"),
    ([("developer", AGENT), ("user", "hi")], "small"),
    ([("user", LRU)], "large"),
]


pytestmark = pytest.mark.usefixtures("encoder")


def tiers(at: str) -> str:
    """The time is long: a busy machine must not turn an estimate into an abstention."""
    return f"""
policy: 1
models:
  small: {{at: '{at}', price: {{input: $0.05/M, output: $0.20/M}}, fits: {{context: 1k}}}}
  large: {{at: '{at}', price: {{input: $0.50/M, output: $2.00/M}}, fits: {{context: 8k}}, can: [tools, vision]}}
difficulty: {{within: 1s}}
routes:
  - {{name: default, choose: {{by: difficulty, among: [small, large], target: {{cost: 45% of large}}, when_unsure: large}}}}
conversations: {{may_move: up}}
"""


async def test_every_process_sends_each_conversation_to_its_tier(tmp_path: Path) -> None:
    """The second gateway saw nothing of what the first one answered."""
    cases, found = [*FOLLOW_UPS, *SYSTEM_PROMPTS], []
    async with fake_upstream(chat_either("ok")) as upstream, httpx.AsyncClient(timeout=30) as client:
        for _ in range(2):
            async with running_gateway(tiers(upstream.base), tmp_path) as gateway:
                for turns, _ in cases:
                    messages = [{"role": role, "content": content} for role, content in turns]
                    body = {"model": "auto", "messages": messages, "max_tokens": 20}
                    answer = await client.post(f"{gateway.base}/v1/chat/completions", json=body)
                    found.append((answer.headers["x-turnout-model"], answer.headers["x-turnout-reason"]))

    wanted = [tier for _, tier in cases] * 2
    assert [model for model, _ in found] == wanted, found
