"""What a request pays for a shadow that misbehaves.

    python -m loadtests.shadows [--requests 3000] [--faults hang,500,flood,slow,kill] [--rate 40] [--json] [--ledger]
    python -m loadtests.shadows --requests 50000 --lanes 3    # as fast as two cores answer: some ten minutes

For each fault three gateways before the same upstream: one without shadows, another one without (what the machine's noise makes
of the same), and one of which every request is drawn by two shadows at a server with that fault, a free one and one with a
price and a cap. Every request is asked of all three, in drawn order, over Chat Completions, Messages, Responses, Completions
and Embeddings (which are never shadowed), streamed and whole. What a shadow adds to the 99th percentile is told with the
interval that blocks of arrivals, drawn again, give it (95 %). Exit code 1 when a byte changed, a request failed, or more was
spent than the cap.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from loadtests.ledger import add_row
from loadtests.openloop import quantile
from loadtests.servers import Server, free_port, running, turnout, uvicorn
from loadtests.shadows.asking import Drive, Heard
from loadtests.shadows.faulty import FAULTS

CAP_MICROUSD = 20_000
PRICE_MICROUSD = 10
"""Of a token, in and out: $10 a million."""

GOAL_MS, GOAL_SHARE = 0.2, 0.01

BLOCK, AGAIN = 50, 300


def policy(primary: str, shadow: str) -> str:
    """Without `shadow` nobody is drawn."""
    models: dict[str, Any] = {"m": {"at": f"{primary}/v1", "can": ["embeddings", "tools"]}}
    shadows: list[Any] = []
    if shadow:
        models["free"] = {"at": f"{shadow}/v1"}
        price = {"input": "$10/M", "output": "$10/M"}
        models["dear"] = {"at": f"{shadow}/v1", "price": price, "fits": {"output": 64}}
        drawn = {"of": "chat", "sample": "100%", "compare": ["exact", "edit", "structure"]}
        shadows = [
            {"name": "free", "to": "free", "limits": {"deadline": "1s"}, **drawn},
            {"name": "dear", "to": "dear", "limits": {"deadline": "1s", "cost": "$0.02/day"}, **drawn},
        ]
    routes = [{"name": "chat", "when": {"model.is": "auto"}, "use": "m"}]
    return json.dumps({"policy": 1, "models": models, "routes": routes, "shadows": shadows})


def drill(fault: str, drive: Drive) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        return drilled(fault, drive, Path(place))


def drilled(fault: str, drive: Drive, folder: Path) -> dict[str, Any]:
    """What shadows keep is read when their gateway has ended."""
    with ExitStack() as stack:
        port = free_port()
        primary = stack.enter_context(running("upstream", uvicorn("loadtests.shadows.upstream:app", port), port))
        port = free_port()
        command = [sys.executable, "-m", "loadtests.shadows.faulty", str(port), fault]
        shadow = stack.enter_context(running("shadow", command, port))
        gateways = {
            name: stack.enter_context(
                gateway(name, folder, policy(primary.url, shadow.url if name == "shadowed" else ""))
            )
            for name in ("plain", "control", "shadowed")
        }
        cpu_s = {name: server.cpu_s() for name, server in gateways.items()}
        drive = replace(drive, gateways={name: server.url for name, server in gateways.items()})
        heard = asyncio.run(driven(drive, shadow if fault == "kill" else None))
        spent = {name: server.cpu_s() - cpu_s[name] for name, server in gateways.items()}
        billed = 0 if fault == "kill" else billed_microusd(shadow.url)
    kept = {name: json.loads((folder / "shadows" / f"{name}.json").read_bytes()) for name in ("free", "dear")}
    return told(fault, heard, kept, billed, {name: 1e3 * cpu / drive.count for name, cpu in spent.items()})


def gateway(name: str, folder: Path, text: str) -> Any:
    file, port = folder / f"{name}.json", free_port()
    file.write_text(text, encoding="utf-8")
    quiet = {"TURNOUT_TELEMETRY__LOG": "off"}
    where = {"TURNOUT_SHADOWS__DIR": str(folder / "shadows")} if name == "shadowed" else {}
    return running(name, turnout(str(file), port), port, env={**quiet, **where})


async def driven(drive: Drive, to_kill: Server | None) -> Heard:
    """The shadow's server is killed when half of the requests have arrived."""
    midway = asyncio.Event()
    running_drive = asyncio.create_task(drive.run(midway), name="drive")
    if to_kill is not None:
        await midway.wait()
        os.kill(to_kill.pid, signal.SIGKILL)
    return await running_drive


def billed_microusd(url: str) -> int:
    """What the shadow's server says that it charged both shadows, had both a price."""
    with suppress(OSError), urllib.request.urlopen(f"{url}/billed", timeout=5) as answer:
        return int(json.load(answer)["tokens"]) * PRICE_MICROUSD
    return 0


def told(fault: str, heard: Heard, kept: dict[str, Any], billed: int, cpu_ms: dict[str, float]) -> dict[str, Any]:
    seen, added_p99 = heard.seen, spread_of(heard.rows, 2)
    p50 = {name: 1e3 * quantile(one.took_s, 0.5) for name, one in seen.items()}
    p99 = {name: 1e3 * quantile(one.took_s, 0.99) for name, one in seen.items()}
    goal, added = max(GOAL_MS, GOAL_SHARE * p99["plain"]), p99["shadowed"] - p99["plain"]
    return {
        "fault": fault,
        "requests": len(seen["plain"].took_s) + seen["plain"].errors,
        "changed": seen["shadowed"].changed,
        "errors": seen["shadowed"].errors,
        "errors_plain": seen["plain"].errors,
        "p50_ms": round(p50["plain"], 3),
        "p99_ms": round(p99["plain"], 3),
        "added_p50_ms": round(p50["shadowed"] - p50["plain"], 3),
        "added_p99_ms": round(added, 3),
        "added_p99_between_ms": added_p99,
        "noise_p50_ms": round(p50["control"] - p50["plain"], 3),
        "noise_p99_ms": round(p99["control"] - p99["plain"], 3),
        "noise_p99_between_ms": spread_of(heard.rows, 1),
        "goal_p99": added <= goal,
        "goal_p99_refuted": added_p99[0] > goal,
        "cpu_ms": {name: round(one, 3) for name, one in cpu_ms.items()},
        "spent_microusd": kept["dear"]["microusd"],
        "taken_microusd": kept["dear"]["taken_microusd"],
        "billed_to_both_microusd": billed,
        "cap_microusd": CAP_MICROUSD,
        "results": {name: chapter["results"] for name, chapter in kept.items()},
    }


def spread_of(rows: Sequence[tuple[float, ...]], place: int) -> tuple[float, float]:
    """Between which milliseconds the difference of 99th percentiles is, of the gateway at `place` and the first; by blocks of
    arrivals that follow each other, drawn again."""
    blocks = np.array(rows[: len(rows) // BLOCK * BLOCK]).reshape(-1, BLOCK, 3)
    if not len(blocks):
        return float("-inf"), float("inf")
    draws, found = np.random.default_rng(7), []
    for _ in range(AGAIN):
        taken = blocks[draws.integers(0, len(blocks), len(blocks))].reshape(-1, 3)
        ends = np.quantile(taken[:, [0, place]], 0.99, axis=0)
        found.append(1e3 * (ends[1] - ends[0]))
    low, high = np.quantile(found, [0.025, 0.975])
    return round(float(low), 3), round(float(high), 3)


def holds(one: dict[str, Any]) -> bool:
    return (
        not one["changed"]
        and one["errors"] <= one["errors_plain"]
        and max(one["spent_microusd"], one["taken_microusd"]) <= CAP_MICROUSD
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=3_000, help="in all, divided among the faults")
    parser.add_argument("--faults", default="hang,500,flood,slow,kill")
    parser.add_argument("--rate", type=float, default=40.0, help="arrivals a second, each at three gateways")
    parser.add_argument("--lanes", type=int, default=0, help="so many at once, as fast as they are answered; no rate")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    asked = parser.parse_args(arguments)
    faults = asked.faults.split(",")
    if unknown := set(faults) - set(FAULTS):
        parser.error(f"no such fault: {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
    drive = Drive({}, asked.requests // len(faults), asked.rate, asked.seed, asked.lanes)
    found = []
    for fault in faults:
        found.append(drill(fault, drive))
        print(json.dumps(found[-1]) if asked.json else line_of(found[-1]), flush=True)
    if asked.ledger:
        ways = "chat, messages, responses, completions, streamed and whole, embeddings"
        pace = f"{asked.lanes} lanes" if asked.lanes else f"{asked.rate:g}/s"
        workload = f"{asked.requests} requests, {pace}, {ways}, each but embeddings drawn by two shadows"
        add_row("shadow drill", workload, "; ".join(line_of(one) for one in found))
    return 0 if all(holds(one) for one in found) else 1


def line_of(one: dict[str, Any]) -> str:
    return (
        f"{one['fault']}: {one['requests']} requests, changed {one['changed']}, extra errors"
        f" {one['errors'] - one['errors_plain']}, ms p50 {one['p50_ms']} added {one['added_p50_ms']} (noise"
        f" {one['noise_p50_ms']}), p99 {one['p99_ms']} added {one['added_p99_ms']} {list(one['added_p99_between_ms'])} (noise"
        f" {one['noise_p99_ms']} {list(one['noise_p99_between_ms'])}),"
        f" spent {one['spent_microusd']} of {one['cap_microusd']}"
    )


if __name__ == "__main__":
    sys.exit(main())
