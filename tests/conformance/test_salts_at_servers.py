"""What keeps the caches of tenants apart at a server is said by their keys, and never by their bodies."""

import hashlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import chat_either, fake_upstream, json_reply

CHAT = {"messages": [{"role": "user", "content": "hi"}]}
TEXT = {"prompt": "hi"}
COMPLETION = {"id": "c", "object": "text_completion", "model": "m", "choices": [{"index": 0, "text": "a"}]}


@pytest.mark.parametrize(("path", "asked"), [("chat/completions", CHAT), ("completions", TEXT)])
@pytest.mark.parametrize("speaks", [{}, {"salt": "cache_salt"}])
async def test_a_clients_salt_is_dropped_and_a_servers_is_the_tenants(
    path: str, asked: dict[str, Any], speaks: dict[str, str], tmp_path: Path
) -> None:
    keys = tmp_path / "keys.json"
    rows = [{"hash": hashlib.sha256(key.encode()).hexdigest(), "tenant": key} for key in ("one", "two")]
    keys.write_text(json.dumps(rows))
    reply = chat_either("A") if asked is CHAT else json_reply(COMPLETION)
    async with fake_upstream(reply) as server, httpx.AsyncClient(timeout=10) as client:
        policy = json.dumps(
            {"policy": 1, "models": {"m": {"at": f"{server.base}/v1", "speaks": speaks}}, "routes": [{"use": "m"}]}
        )
        async with running_gateway(policy, tmp_path, keys_file=keys) as gateway:
            for key, more in (("one", {}), ("one", {"cache_salt": "x"}), ("two", {"cache_salt": "one"}), ("two", {})):
                body = {"model": "m", **asked, **more}
                headers = {"authorization": f"Bearer {key}"}
                answer = await client.post(f"{gateway.base}/v1/{path}", json=body, headers=headers)
                assert answer.status_code == 200, answer.text
        found = [json.loads(got.body).get("cache_salt") for got in server.received]

    if speaks:
        assert found[0] == found[1]
        assert found[2] == found[3]
        assert len({found[0], found[2], "x", "one", "", None}) == 6
    else:
        assert found == [None] * 4
