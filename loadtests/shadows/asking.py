"""Every way to ask, and three gateways asked the same at the same time: what came, byte for byte, and how long it took."""

import asyncio
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

SAID: list[dict[str, str]] = [{"role": "user", "content": "Where does a turnout lead?"}]
WAYS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("/v1/chat/completions", {"model": "auto", "messages": SAID, "max_tokens": 64}),
    ("/v1/messages", {"model": "auto", "messages": SAID, "max_tokens": 64}),
    ("/v1/responses", {"model": "auto", "input": "Where does a turnout lead?", "max_output_tokens": 64}),
)

ITS_OWN = re.compile(rb'(?:req|msg|resp|chatcmpl|rs)_[\w-]+|"(?:created|created_at|completed_at)":[\d.]+')
"""What is another's for each request: ids and instants."""


@dataclass(slots=True)
class Seen:
    """Of one gateway: seconds of every answer, its errors, and answers that were not as the first gateway's."""

    took_s: list[float] = field(default_factory=list)
    errors: int = 0
    changed: int = 0


@dataclass(frozen=True)
class Drive:
    """`count` arrivals at `rate` a second, each asked of all of `gateways` (by name, URL), in turns of a drawn order."""

    gateways: Mapping[str, str]
    count: int
    rate: float
    seed: int

    async def run(self, midway: asyncio.Event) -> dict[str, Seen]:
        """`midway` is set when half of them have arrived."""
        seen = {name: Seen() for name in self.gateways}
        draws, start, at = random.Random(self.seed), time.perf_counter(), 0.0
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)
        async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as tasks:
            for number in range(self.count):
                at += draws.expovariate(self.rate)
                await asyncio.sleep(max(0.0, start + at - time.perf_counter()))
                path, body = draws.choice(WAYS)
                order = draws.sample(list(self.gateways), len(self.gateways))
                asked = dict(body) | ({"stream": True} if draws.random() < 0.5 else {})
                tasks.create_task(self._all(session, path, asked, order, seen), name="ask")
                if number == self.count // 2:
                    midway.set()
        return seen

    async def _all(
        self,
        session: aiohttp.ClientSession,
        path: str,
        body: Mapping[str, Any],
        order: Sequence[str],
        seen: Mapping[str, Seen],
    ) -> None:
        answers = {name: await one(session, self.gateways[name] + path, body, seen[name]) for name in order}
        first = answers[next(iter(self.gateways))]
        for name, answer in answers.items():
            seen[name].changed += answer != first


async def one(session: aiohttp.ClientSession, url: str, body: Mapping[str, Any], seen: Seen) -> bytes:
    """The answer, but for what is another's each time; empty where there is none."""
    began = time.perf_counter()
    try:
        async with session.post(url, json=body) as answer:
            data = await answer.read()
            seen.errors += answer.status != 200
    except (aiohttp.ClientError, TimeoutError):
        seen.errors += 1
        return b""
    seen.took_s.append(time.perf_counter() - began)
    return ITS_OWN.sub(b"*", data)
