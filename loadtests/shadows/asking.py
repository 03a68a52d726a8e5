"""Every way to ask, and three gateways asked the same at the same time: what came, byte for byte, and how long it took."""

import asyncio
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import aiohttp

SAID: list[dict[str, str]] = [{"role": "user", "content": "Where does a turnout lead?"}]
ASKED = "Where does a turnout lead?"
WAYS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("/v1/chat/completions", {"model": "auto", "messages": SAID, "max_tokens": 64}),
    ("/v1/messages", {"model": "auto", "messages": SAID, "max_tokens": 64}),
    ("/v1/responses", {"model": "auto", "input": ASKED, "max_output_tokens": 64}),
    ("/v1/completions", {"model": "auto", "prompt": ASKED, "max_tokens": 64}),
    ("/v1/embeddings", {"model": "auto", "input": ASKED}),
)
WHOLE_ALONE = frozenset(("/v1/embeddings",))
"""What no server streams."""

ITS_OWN = re.compile(rb'(?:req|msg|resp|chatcmpl|cmpl|rs)_[\w-]+|"(?:created|created_at|completed_at)":[\d.]+')
"""What is another's for each request: ids and instants."""


@dataclass(slots=True)
class Seen:
    """Of one gateway: seconds of every answer, its errors, and answers that were not as the first gateway's."""

    took_s: list[float] = field(default_factory=list)
    errors: int = 0
    changed: int = 0


@dataclass(slots=True)
class Heard:
    """`seen` by gateway; `rows` are seconds of each arrival, in the order of `seen`, of arrivals that all have answered."""

    seen: dict[str, Seen]
    rows: list[tuple[float, ...]] = field(default_factory=list)


@dataclass(frozen=True)
class Drive:
    """`count` arrivals at `rate` a second, or by so many `lanes` as fast as they are answered, each asked of all of `gateways`
    (by name, URL), in turns of a drawn order."""

    gateways: Mapping[str, str]
    count: int
    rate: float
    seed: int
    lanes: int = 0

    async def run(self, midway: asyncio.Event) -> Heard:
        """`midway` is set when half of them have arrived."""
        heard, arrivals = Heard({name: Seen() for name in self.gateways}), self._arrivals(midway)
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)
        async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as tasks:
            if self.lanes:
                for _ in range(self.lanes):
                    tasks.create_task(self._lane(session, arrivals, heard), name="lane")
            else:
                await self._open(session, arrivals, heard, tasks)
        return heard

    async def _open(
        self, session: aiohttp.ClientSession, arrivals: Iterator["Arrival"], heard: Heard, tasks: asyncio.TaskGroup
    ) -> None:
        draws, start, at = random.Random(self.seed + 1), time.perf_counter(), 0.0
        for arrival in arrivals:
            at += draws.expovariate(self.rate)
            await asyncio.sleep(max(0.0, start + at - time.perf_counter()))
            tasks.create_task(self._all(session, arrival, heard), name="ask")

    async def _lane(self, session: aiohttp.ClientSession, arrivals: Iterator["Arrival"], heard: Heard) -> None:
        for arrival in arrivals:
            await self._all(session, arrival, heard)

    def _arrivals(self, midway: asyncio.Event) -> Iterator["Arrival"]:
        draws = random.Random(self.seed)
        for number in range(self.count):
            path, body = draws.choice(WAYS)
            streams = draws.random() < 0.5 and path not in WHOLE_ALONE
            order = draws.sample(list(self.gateways), len(self.gateways))
            yield Arrival(path, dict(body) | ({"stream": True} if streams else {}), order)
            if number == self.count // 2:
                midway.set()

    async def _all(self, session: aiohttp.ClientSession, arrival: "Arrival", heard: Heard) -> None:
        seen, path = heard.seen, arrival.path
        answers = {
            name: await one(session, self.gateways[name] + path, arrival.body, seen[name]) for name in arrival.order
        }
        first = answers[next(iter(self.gateways))].data
        for name, answer in answers.items():
            seen[name].changed += answer.data != first
        row = tuple([answers[name].took_s for name in self.gateways])
        if all(row):
            heard.rows.append(row)


class Arrival(NamedTuple):
    path: str
    body: Mapping[str, Any]
    order: Sequence[str]


class Answer(NamedTuple):
    """`data` but for what is another's each time. Where there is no answer it is empty, and took no time."""

    data: bytes = b""
    took_s: float = 0.0


async def one(session: aiohttp.ClientSession, url: str, body: Mapping[str, Any], seen: Seen) -> Answer:
    began = time.perf_counter()
    try:
        async with session.post(url, json=body) as answer:
            data = await answer.read()
            seen.errors += answer.status != 200
    except (aiohttp.ClientError, TimeoutError):
        seen.errors += 1
        return Answer()
    took_s = time.perf_counter() - began
    seen.took_s.append(took_s)
    return Answer(ITS_OWN.sub(b"*", data), took_s)
