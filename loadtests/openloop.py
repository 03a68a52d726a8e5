"""The open-loop driver: requests leave on a schedule drawn beforehand, whether or not earlier ones were answered.

Latency counts from the scheduled moment, so a stall of the server is paid by every request it delayed
(no coordinated omission).
"""

import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp


@dataclass(slots=True)
class Shot:
    """One request's times, in seconds from its scheduled moment; `gaps` are the ITLs. `error` is "" on success."""

    ttft_s: float = 0.0
    total_s: float = 0.0
    gaps: list[float] = field(default_factory=list)
    late_s: float = 0.0
    error: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What to send and when. `rate` in requests/s with exponential gaps (Poisson), `count` requests, one `seed`."""

    url: str
    body: dict[str, object]
    rate: float
    count: int
    seed: int = 0
    timeout_s: float = 120.0

    def schedule(self) -> list[float]:
        """Seconds after the start at which each request leaves."""
        draw, at, times = random.Random(self.seed), 0.0, []
        for _ in range(self.count):
            at += draw.expovariate(self.rate)
            times.append(at)
        return times


async def fire(plan: Plan) -> list[Shot]:
    """Run the plan and return one Shot per request, in the order of the schedule."""
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)
    timeout = aiohttp.ClientTimeout(total=plan.timeout_s)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        start = time.perf_counter() + 0.05
        shots = [_shoot(session, plan, start + at) for at in plan.schedule()]
        return await asyncio.gather(*shots)


async def _shoot(session: aiohttp.ClientSession, plan: Plan, at: float) -> Shot:
    await asyncio.sleep(max(0.0, at - time.perf_counter()))
    shot = Shot(late_s=time.perf_counter() - at)
    try:
        await (_streamed if plan.body.get("stream") else _whole)(session, plan, at, shot)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        shot.error = f"{type(error).__name__}: {error}"
    shot.total_s = time.perf_counter() - at
    return shot


async def _whole(session: aiohttp.ClientSession, plan: Plan, at: float, shot: Shot) -> None:
    async with session.post(plan.url, json=plan.body) as answer:
        shot.headers = dict(answer.headers)
        body = await answer.read()
        shot.ttft_s = time.perf_counter() - at
        if answer.status != 200:
            raise ValueError(f"status {answer.status}: {body[:200]!r}")


async def _streamed(session: aiohttp.ClientSession, plan: Plan, at: float, shot: Shot) -> None:
    """Count events that carry content; the end must be `[DONE]`, else the answer was cut."""
    previous, last = 0.0, b""
    async with session.post(plan.url, json=plan.body) as answer:
        shot.headers = dict(answer.headers)
        if answer.status != 200:
            raise ValueError(f"status {answer.status}: {(await answer.read())[:200]!r}")
        async for line in answer.content:
            if not line.startswith(b"data:"):
                continue
            last = line[5:].strip()
            if not _speaks(last):
                continue
            now = time.perf_counter()
            if previous:
                shot.gaps.append(now - previous)
            else:
                shot.ttft_s = now - at
            previous = now
    if last != b"[DONE]":
        raise ValueError(f"the stream ended with {last[:100]!r}")


def _speaks(data: bytes) -> bool:
    if data == b"[DONE]":
        return False
    event = json.loads(data)
    if "error" in event:
        raise ValueError(f"error event: {event['error']}")
    return any(choice.get("delta", {}).get("content") for choice in event.get("choices", ()))


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile by linear interpolation; nan of nothing."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
