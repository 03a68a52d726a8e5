"""Does memory grow under load: resident size, read while whole answers and streams go through, and the slope of it."""

import asyncio
import time
from collections.abc import Sequence

import uvloop

from loadtests.overhead.client import Heard, Load, ask
from loadtests.overhead.cores import Cores, pinned
from loadtests.overhead.rounds import Figures, small, streaming, wires
from loadtests.servers import Server

SAMPLE_S = 1.0
SETTLING = 0.25
"""The part of the time at the beginning in which caches fill; it does not count."""


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Of the line of least squares.

    >>> slope([0, 1, 2, 3], [5, 7, 9, 11])
    2.0
    """
    mean_t, mean_v = sum(times) / len(times), sum(values) / len(values)
    spread = sum([(t - mean_t) ** 2 for t in times])
    return sum([(t - mean_t) * (v - mean_v) for t, v in zip(times, values, strict=True)]) / spread if spread else 0.0


def soak(server: Server, seconds: float, cores: Cores) -> Figures:
    """48 connections with whole answers and 16 with streams, as fast as they are answered."""
    with pinned(cores.asks):
        heard, samples = uvloop.run(_loaded(server, seconds))
    counted = [(at, mb) for at, mb in samples if at >= seconds * SETTLING]
    times, sizes = [at / 60 for at, _ in counted], [mb * 1_000 for _, mb in counted]
    return {
        "requests": float(sum(len(one.took) for one in heard)),
        "bad": float(sum(one.bad for one in heard)),
        "rss_mb": samples[-1][1],
        "rss_mb_after_settling": counted[0][1],
        "slope_kb_per_minute": slope(times, sizes),
        "slope_kb_per_minute_last_half": slope(times[len(times) // 2 :], sizes[len(sizes) // 2 :]),
    }


async def _loaded(server: Server, seconds: float) -> tuple[list[Heard], list[tuple[float, float]]]:
    loads = (Load(wires(server.url, small), 48, seconds), Load(wires(server.url, streaming), 16, seconds))
    samples: list[tuple[float, float]] = []

    async def read() -> None:
        began = time.perf_counter()
        while (at := time.perf_counter() - began) < seconds:
            samples.append((at, server.rss_mb()))
            await asyncio.sleep(SAMPLE_S)

    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(ask(server.url, load), name="load") for load in loads]
        tasks.create_task(read(), name="resident size")
    return [task.result() for task in asked], samples
