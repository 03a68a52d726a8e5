"""LIFE-05 by the clock: the limit on the first content fires when it is due, whatever comments come."""

import asyncio
import json
from pathlib import Path

from servers.plain_client import chat_body, connected
from servers.running_gateway import running_gateway
from upstreams.fake_upstream import Pause, Until, chat_either, fake_upstream, sse_reply

LIMIT_S = 0.2


async def test_comments_push_no_limit_and_the_silent_upstream_is_closed(tmp_path: Path) -> None:
    pings = [step for _ in range(200) for step in (b": ping\n\n", Pause(0.05))]
    async with (
        fake_upstream(sse_reply(*pings, Until(asyncio.Event()))) as silent,
        fake_upstream(chat_either("ok")) as other,
    ):
        policy = {
            "policy": 1,
            "models": {"m": {"at": f"{silent.base}/v1"}, "b": {"at": f"{other.base}/v1"}},
            "routes": [{"use": "m", "fallback": ["b"]}],
            "resilience": {"first_content": "200ms", "gap": "300ms"},
        }
        async with running_gateway(json.dumps(policy), tmp_path) as gateway, connected(gateway.port) as client:
            began = asyncio.get_running_loop().time()
            await client.ask(chat_body(stream=True, model="auto"))
            await client.until(b'"content":"ok"')
            took_s = asyncio.get_running_loop().time() - began
            await asyncio.wait_for(silent.last.closed.wait(), 0.5)

    assert LIMIT_S <= took_s < 10 * LIMIT_S
