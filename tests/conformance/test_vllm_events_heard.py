"""A vLLM server that publishes its KV events: what it holds of a prompt is known exactly, and so is that it lost it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from servers.running_gateway import RunningGateway, running_gateway
from upstreams.fake_upstream import Received, Reply, chat_either, fake_upstream, json_reply

zmq_asyncio = pytest.importorskip("zmq.asyncio", reason="the extra vllm-events is not installed")
import zmq  # noqa: E402

SIZE = 16
PROMPT = "the same long beginning of every prompt. " * 60
METRICS = "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n"


@dataclass
class Vllm:
    """Tokens are characters. It stores what it is asked, and says so when told to."""

    publisher: Any
    number: int = 0
    blocks: dict[str, int] = field(default_factory=dict)

    def __call__(self, got: Received) -> Reply:
        if got.path == "/tokenize":
            return json_reply({"tokens": self.tokens(json.loads(got.body)), "count": 0})
        if got.path == "/metrics":
            return Reply((METRICS.encode(),), 200, (("content-type", "text/plain"),))
        if got.path == "/health":
            return json_reply({})
        return chat_either("A")(got)

    def tokens(self, body: dict[str, Any]) -> list[int]:
        return list("\n".join(message["content"] for message in body["messages"]).encode())

    async def publish(self, *events: list[Any]) -> None:
        payload = msgspec.msgpack.encode([0.0, list(events), None])
        await self.publisher.send_multipart([b"", self.number.to_bytes(8, "big"), payload])
        self.number += 1

    async def stores(self, text: str) -> None:
        """Every full block of the prompt that it does not have yet."""
        tokens, parent = list(text.encode()), None
        for end in range(SIZE, len(tokens) + 1, SIZE):
            key = text[:end]
            if key not in self.blocks:
                self.blocks[key] = len(self.blocks) + 1
                block = ["BlockStored", [self.blocks[key]], parent, tokens[end - SIZE : end], SIZE, None, "GPU"]
                await self.publish(block)
            parent = self.blocks[key]


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[tuple[RunningGateway, Vllm, httpx.AsyncClient]]:
    context = zmq_asyncio.Context()
    publisher = context.socket(zmq.XPUB)
    port = publisher.bind_to_random_port("tcp://127.0.0.1")
    vllm = Vllm(publisher)
    model = {"watch": "vllm", "events": port}
    try:
        async with fake_upstream(vllm) as server, httpx.AsyncClient(timeout=10) as client:
            policy = json.dumps(
                {"policy": 1, "models": {"m": {"at": f"{server.base}/v1", **model}}, "routes": [{"use": "m"}]}
            )
            async with running_gateway(policy, folder) as gateway:
                async with asyncio.timeout(10):
                    assert await publisher.recv() == b"\x01", "somebody listens"
                yield gateway, vllm, client
    finally:
        publisher.close(linger=0)
        context.term()


async def ask(gateway: RunningGateway, client: httpx.AsyncClient, text: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    assert (await client.post(f"{gateway.base}/v1/chat/completions", json=body)).status_code == 200


async def believed(gateway: RunningGateway, client: httpx.AsyncClient, text: str) -> int:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    told = (await client.post(f"{gateway.base}/v1/route", json=body)).json()
    [why] = [term["why"] for c in told["decision"]["candidates"] for term in c["terms"] if term["name"] == "affinity"]
    return int(why.split()[0]) if why[0].isdigit() else 0


async def until_believed(gateway: RunningGateway, client: httpx.AsyncClient, text: str, holds: Any) -> int:
    async with asyncio.timeout(10):
        while not holds(found := await believed(gateway, client, text)):  # noqa: ASYNC110  only asking tells
            await asyncio.sleep(0.02)
    return found


async def test_what_a_server_stores_and_evicts_is_known(tmp_path: Path) -> None:
    async with world(tmp_path) as (gateway, vllm, client):
        assert await believed(gateway, client, PROMPT) == 0
        await vllm.stores(PROMPT)
        await ask(gateway, client, PROMPT)
        known = await until_believed(gateway, client, PROMPT, lambda tokens: tokens > 0)
        longer = await believed(gateway, client, PROMPT + "and something of its own")

        last = [vllm.blocks[key] for key in list(vllm.blocks)[len(vllm.blocks) // 3 :]]
        await vllm.publish(["BlockRemoved", list(reversed(last)), "GPU"])
        part = await until_believed(gateway, client, PROMPT, lambda tokens: tokens < known)

        await vllm.publish(["AllBlocksCleared"])
        assert await until_believed(gateway, client, PROMPT, lambda tokens: tokens == 0) == 0

    assert 500 < known <= longer
    assert 0 < part <= len(PROMPT) // 3


async def test_a_server_that_began_anew_holds_nothing_and_is_learnt_anew(tmp_path: Path) -> None:
    async with world(tmp_path) as (gateway, vllm, client):
        await vllm.stores(PROMPT)
        await ask(gateway, client, PROMPT)
        await until_believed(gateway, client, PROMPT, lambda tokens: tokens > 0)

        vllm.number, vllm.blocks = 0, {}
        await vllm.stores("something else entirely, of more than one block")
        assert await until_believed(gateway, client, PROMPT, lambda tokens: tokens == 0) == 0

        await vllm.stores(PROMPT)
        await ask(gateway, client, PROMPT)
        assert await until_believed(gateway, client, PROMPT, lambda tokens: tokens > 0) > 500


async def test_after_lost_events_nothing_is_claimed(tmp_path: Path) -> None:
    async with world(tmp_path) as (gateway, vllm, client):
        await vllm.stores(PROMPT)
        await ask(gateway, client, PROMPT)
        await until_believed(gateway, client, PROMPT, lambda tokens: tokens > 0)

        vllm.number += 5
        await vllm.publish(["BlockRemoved", [1], "GPU"])

        assert await until_believed(gateway, client, PROMPT, lambda tokens: tokens == 0) == 0
