"""Workers with stub engines on loopback, and what a test asks a gateway in front of them."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from engine.stub_models import Logits, PrefixModel, StubVocabulary
from servers.in_process import in_process_gateway
from servers.running_gateway import RunningGateway

from backends.engine.api import Step
from backends.engine.upstream.local import LocalUpstream
from backends.messages import Message
from gateway.live.replicas import Replica

PROMPT = "the same long beginning of every prompt of this tenant. " * 30
"""1680 bytes: three chunks of the gateway's, 420 tokens or 26 blocks of the worker's."""


class Words(StubVocabulary):
    """Four characters are a token."""

    def encode_chat(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        return super().encode_chat(messages, tools)[::4]


class Model(PrefixModel):
    """Fails or takes its time when told to."""

    def __init__(self) -> None:
        super().__init__(blocks=80, vocab_size=64)
        self.fault: Exception | None = None
        self.step_s = 0.0

    def forward(self, step: Step) -> Logits:
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        time.sleep(self.step_s)
        return super().forward(step)


@dataclass
class Worker:
    gateway: RunningGateway
    upstream: LocalUpstream
    model: Model

    @property
    def at(self) -> str:
        return f"{self.gateway.base}/v1"


@asynccontextmanager
async def worker(folder: Path, **options: Any) -> AsyncIterator[Worker]:
    model = Model()
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240  a test's own folder
    async with in_process_gateway(model, Words(eos=None), folder, window=1280, **options) as (gateway, upstream):
        yield Worker(gateway, upstream, model)


def replicas(gateway: RunningGateway) -> list[Replica]:
    return list(gateway.gateway.live)


def heard(replica: Replica) -> bool:
    return replica.upstream._heard.load is not None  # type: ignore[union-attr]


async def until_heard(gateway: RunningGateway) -> None:
    await gateway.until(lambda _: all(heard(replica) for replica in replicas(gateway)))


async def ask(client: httpx.AsyncClient, gateway: RunningGateway, text: str = PROMPT, key: str = "") -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": 2, "temperature": 0}
    answer = await client.post(f"{gateway.base}/v1/chat/completions", json=body, headers={"x-api-key": key})
    assert answer.status_code == 200, answer.text
    whole: dict[str, Any] = answer.json()
    return whole


def cached(answer: dict[str, Any]) -> int:
    tokens: int = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
    return tokens


async def believed(client: httpx.AsyncClient, gateway: RunningGateway, text: str = PROMPT) -> dict[str, int]:
    """Resident tokens of the prompt at every replica, as the decision saw them."""
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": 2}
    told = (await client.post(f"{gateway.base}/v1/route", json=body)).json()
    found = {}
    for candidate in told["decision"]["candidates"]:
        [why] = [term["why"] for term in candidate["terms"] if term["name"] == "affinity"]
        found[candidate["replica"]] = int(why.split()[0]) if why[0].isdigit() else 0
    return found


async def learnt(client: httpx.AsyncClient, gateway: RunningGateway) -> dict[str, int]:
    """What is believed when the events of the worker that answered are here."""
    async with asyncio.timeout(5):
        while not any((known := await believed(client, gateway)).values()):  # noqa: ASYNC110  only asking tells
            await asyncio.sleep(0.02)
    return known
