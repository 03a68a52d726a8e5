"""Headers as clients may write them, in front of the real app."""

from pathlib import Path

import httpx
from conformance.world import world_of

MESSAGES = {
    "models": {"m": {"at": "A", "dialect": "anthropic", "fits": {"output": 64}}},
    "upstreams": {"A": {"says": ["ok"]}},
}
BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


async def test_betas_in_several_lines_all_reach_the_server(tmp_path: Path) -> None:
    betas = [
        ("Anthropic-Beta", "one-2031"),
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "two-2031,three-2031"),
    ]

    async with world_of(MESSAGES, tmp_path) as world, httpx.AsyncClient() as client:
        answer = await client.post(f"{world.gateway.base}/v1/messages", json=BODY, headers=betas)

    assert answer.status_code == 200
    assert world.upstreams["A"].last.header("anthropic-beta") == "one-2031, two-2031,three-2031"
    assert world.upstreams["A"].last.header("anthropic-version") == "2023-06-01"
