"""Plain httpx, aiohttp and our own transport through one interface: `python -m loadtests.transport.bench [--json] [--ledger]`.

Processor time of this process for one exchange; the upstream is a process of its own. Contenders take turns, the first
round warms up, medians of the others count.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import uvloop

from backends.transport import FastTransport, HttpRequest, Transport, locate
from backends.transport.over_httpx import HttpxTransport
from loadtests.ledger import add_row
from loadtests.servers import free_port, running
from loadtests.transport.over_aiohttp import AiohttpTransport

BODY = b'{"model":"m","messages":[{"role":"user","content":"' + b"x" * 950 + b'"}]}'
HEADERS = (
    ("user-agent", "turnout"),
    ("accept-encoding", "identity"),
    ("authorization", "Bearer key"),
    ("content-type", "application/json"),
    ("accept", "*/*"),
)

CONTENDERS: dict[str, Callable[[], Transport]] = {
    "httpx": HttpxTransport,
    "aiohttp": AiohttpTransport,
    "fast": FastTransport,
}


@dataclass(frozen=True)
class Load:
    """Exchanges on `path`, `width` of them at any time."""

    name: str
    path: str
    width: int


LOADS = (
    Load("post_c1", "/whole", 1),
    Load("post_c64", "/whole", 64),
    Load("stream_c64", "/stream", 64),
)


async def exchange(transport: Transport, base: str, path: str) -> float:
    """One request, read to its end; seconds until then."""
    origin, _ = locate(base)
    began = time.perf_counter()
    response = await transport.open(HttpRequest("POST", origin, path, HEADERS, BODY), 5.0)
    try:
        while await response.read():
            pass
    finally:
        await response.aclose()
    return time.perf_counter() - began


async def measure(make: Callable[[], Transport], base: str, load: Load, seconds: float) -> tuple[float, float]:
    """(processor microseconds per exchange, median milliseconds)."""
    transport = make()
    end = time.perf_counter() + seconds
    times: list[float] = []

    async def lane() -> None:
        while time.perf_counter() < end:
            times.append(await exchange(transport, base, load.path))

    began = time.process_time()
    async with asyncio.TaskGroup() as group:
        for number in range(load.width):
            group.create_task(lane(), name=f"lane {number}")
    used = time.process_time() - began
    await transport.aclose()
    return used / len(times) * 1e6, statistics.median(times) * 1e3


def compare(base: str, rounds: int, seconds: float) -> dict[str, dict[str, dict[str, float]]]:
    seen: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for round_number in range(rounds + 1):
        for load in LOADS:
            for name, make in CONTENDERS.items():
                result = uvloop.run(measure(make, base, load, seconds))
                if round_number:
                    seen.setdefault((load.name, name), []).append(result)
    return {
        load.name: {
            name: {
                "cpu_us": round(statistics.median(cpu for cpu, _ in seen[load.name, name]), 1),
                "p50_ms": round(statistics.median(ms for _, ms in seen[load.name, name]), 3),
            }
            for name in CONTENDERS
        }
        for load in LOADS
    }


def summary(table: dict[str, dict[str, dict[str, float]]]) -> str:
    """The times of every load side by side, for one cell of the ledger."""
    rows = (
        f"{load}: " + ", ".join(f"{name} {cell['cpu_us']:.0f}" for name, cell in row.items())
        for load, row in table.items()
    )
    return "µs of CPU; " + "; ".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    options = parser.parse_args()
    port = free_port()
    command = [sys.executable, "-m", "loadtests.transport.mock", str(port)]
    with running("mock", command, port, ready="/") as server:
        table = compare(server.url, options.rounds, options.seconds)
    if options.ledger:
        add_row("processor time of one upstream call", "1 KB POST at 1 and 64, 33-event stream at 64", summary(table))
    if options.json:
        print(json.dumps(table, indent=2))
        return
    for load, row in table.items():
        cells = "  ".join(f"{name} {cell['cpu_us']:8.1f} us cpu {cell['p50_ms']:7.3f} ms" for name, cell in row.items())
        print(f"{load:12} {cells}")


if __name__ == "__main__":
    main()
