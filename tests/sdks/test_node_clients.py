"""The clients of the Node world cannot tell the gateway from the real thing: over HTTP, and on engines in its process."""

from pathlib import Path
from typing import Any

import pytest
from sdks.sdk_world import World, seen_by, why_not, world

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "node and its clients are here")

CLIENTS = [
    "openai",
    "anthropic",
    "vercel_openai",
    "vercel_responses",
    "vercel_anthropic",
    "langchain_openai",
    "langchain_anthropic",
]
OVER_HTTP = ("chat", "stream", "tools", "streamed_tools", "json", "unknown_model", "cut", "abort")
ON_NOISE = ("json", "chat", "stream", "abort")
ON_CALLS = ("tools", "streamed_tools")

JSON_BY_TOOLS = ("vercel_anthropic",)
"""Asks for JSON by a tool, which noise has none of."""

CALL = ["look", {"at": "Ghent"}]


async def left_nothing(world: World) -> None:
    """While the client's process is still there: whoever aborted has left, and took the work along."""
    for gateway in world.gateways.values():
        await gateway.until_empty(2.0)
    await world.upstream.until(lambda seen: seen.received[-1].closed.is_set())


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_reads_everything_as_what_it_is(client: str, tmp_path: Path) -> None:
    asked = {"there": OVER_HTTP, "noise": ON_NOISE[client in JSON_BY_TOOLS :], "calls": ON_CALLS}
    async with world(tmp_path) as behind, seen_by(client, behind, asked) as seen:
        await left_nothing(behind)

    over_http(seen["there"])
    on_noise(seen["noise"])
    for scenario in ON_CALLS:
        assert seen["calls"][scenario]["calls"] == [CALL], seen["calls"]


@pytest.mark.parametrize("client", ["openai", "anthropic"])
async def test_the_official_clients_list_the_models(client: str, tmp_path: Path) -> None:
    async with world(tmp_path) as behind, seen_by(client, behind, {"there": ["models"]}) as seen:
        assert seen["there"]["models"] == ["auto", "m", "e"]


@pytest.mark.parametrize("client", ["openai", "vercel_openai", "langchain_openai"])
async def test_embeddings_come_in_the_encoding_that_each_client_asks_for(client: str, tmp_path: Path) -> None:
    async with world(tmp_path) as behind, seen_by(client, behind, {"there": ["embeddings"]}) as seen:
        assert seen["there"]["embeddings"] == [[0.5, -2.0, 0.0], [0.5, -2.0, 1.0]]


async def test_the_official_client_reads_responses(tmp_path: Path) -> None:
    asked = {"there": ("response", "streamed_response", "response_json"), "noise": ("response", "streamed_response")}
    async with world(tmp_path) as behind, seen_by("openai", behind, asked) as seen:
        pass

    assert seen["there"]["response"] == {"text": "Hello", "model": "m", "status": "completed"}
    assert seen["there"]["streamed_response"] == {"text": "Hello", "pieces": 2}
    assert seen["there"]["response_json"] == {"sure": True}
    assert seen["noise"]["response"]["text"] == seen["noise"]["streamed_response"]["text"]


def over_http(seen: Any) -> None:
    assert seen["chat"]["text"] == "Hello", seen["chat"]
    assert seen["chat"].get("model", "m") == "m"
    assert seen["chat"]["used"] is True
    assert seen["stream"] == {"text": "Hello", "pieces": 2}
    for scenario in ("tools", "streamed_tools"):
        assert seen[scenario]["calls"] == [CALL], seen[scenario]
    assert seen["json"] == {"sure": True}
    assert seen["unknown_model"]["status"] == 404, seen["unknown_model"]
    assert "boom" in seen["cut"]["message"], seen["cut"]
    assert seen["abort"] == {"began": True}


def on_noise(seen: Any) -> None:
    assert seen["chat"]["text"], seen["chat"]
    assert seen["stream"]["text"] == seen["chat"]["text"]
    assert seen.get("json", {"sure": True}) in ({"sure": True}, {"sure": False}), seen["json"]
    assert seen["abort"] == {"began": True}
