"""What a busy engine adds to requests that only pass through: does it starve the event loop of its own process?

    python -m loadtests.engine.loop_delay --model DIR_OR_GGUF [--streams 8] [--rate 20] [--count 300] [--rounds 3] [--ledger]

One gateway with two models: an engine in its process, and a scripted HTTP upstream. Requests to the second, open loop, are
timed while the first is idle, while it serves streams, and (control) while other processes keep as many cores busy. Turns are
taken, medians of the rounds count. What "busy" adds beyond "control" is the engine's doing; the rest is the want of a core.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from statistics import median

from backends.engine.kernels.cpu import usable_cores
from loadtests.ledger import add_row
from loadtests.openloop import Plan, fire, quantile
from loadtests.servers import Server, free_port, running, turnout, uvicorn

POLICY = """policy: 1
models:
  engine:
    run: {{weights: "{weights}", precision: {precision}}}
  proxied: {{at: "{upstream}/v1"}}
routes:
  - {{name: default, use: proxied}}
"""
BODY: dict[str, object] = {
    "model": "proxied",
    "max_tokens": 16,
    "messages": [{"role": "user", "content": "Where does a turnout lead? " * 30}],
}
READY_WITHIN_S = 120.0
RAMP_S = 2.0
SPIN = "while True: pass"


@contextmanager
def gateway(weights: Path, precision: str) -> Iterator[Server]:
    with ExitStack() as stack:
        port = free_port()
        bare = stack.enter_context(running("upstream", uvicorn("loadtests.peers.mock_upstream:app", port), port))
        policy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "policy.yaml"
        policy.write_text(POLICY.format(weights=weights, precision=precision, upstream=bare.url))
        port = free_port()
        command = turnout(str(policy), port)
        quiet = {"TURNOUT_TELEMETRY__LOG": "off"}  # nobody reads the lines
        yield stack.enter_context(
            running("turnout", command, port, env=quiet, ready="/readyz", within_s=READY_WITHIN_S)
        )


@contextmanager
def processes(commands: list[list[str]]) -> Iterator[None]:
    started = [subprocess.Popen(command) for command in commands]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def pressure(kind: str, server: Server, streams: int) -> AbstractContextManager[None]:
    """What runs beside the probe: nothing, streams of the engine, or processes that only burn cores."""
    load = [
        sys.executable,
        "-m",
        "loadtests.engine.full_load",
        server.url,
        "--model",
        "engine",
        "--streams",
        str(streams),
    ]
    spins = [[sys.executable, "-c", SPIN]] * usable_cores()
    commands: dict[str, list[list[str]]] = {"idle": [], "busy": [load], "control": spins}
    return processes(commands[kind])


async def probe(server: Server, plan: Plan) -> list[float]:
    """Seconds from the scheduled moment to the whole answer. Raises RuntimeError when a request failed."""
    await asyncio.sleep(RAMP_S)
    shots = await fire(plan)
    if failed := [shot.error for shot in shots if shot.error]:
        raise RuntimeError(f"{len(failed)} of {len(shots)} requests failed: {failed[0]}")
    return [shot.total_s for shot in shots]


def round_of(kind: str, server: Server, streams: int, plan: Plan) -> dict[str, float]:
    with pressure(kind, server, streams):
        seconds = asyncio.run(probe(server, plan))
    return {f"p{q}": quantile(seconds, q / 100) * 1000 for q in (50, 99, 100)}


def compare(server: Server, args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Milliseconds by kind of pressure, medians over the rounds after one that only warms up."""
    seen: dict[str, list[dict[str, float]]] = {"idle": [], "busy": [], "control": []}
    for turn in range(args.rounds + 1):
        plan = Plan(server.url + "/v1/chat/completions", BODY, args.rate, args.count, seed=turn)
        for kind, rounds in seen.items():
            found = round_of(kind, server, args.streams, plan)
            if turn:
                rounds.append(found)
    return {kind: {key: median(r[key] for r in rounds) for key in rounds[0]} for kind, rounds in seen.items()}


def table(results: dict[str, dict[str, float]]) -> Iterator[str]:
    yield f"{'proxied request, ms':<22}{'p50':>8}{'p99':>8}{'max':>8}{'added p50':>11}{'p99':>8}{'max':>8}"
    idle = results["idle"]
    for kind, found in results.items():
        cells = "".join(f"{found[key]:>8.2f}" for key in idle)
        added = [found[key] - idle[key] for key in idle]
        yield f"{kind:<22}{cells}{added[0]:>11.2f}{added[1]:>8.2f}{added[2]:>8.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--precision", choices=("float32", "bfloat16", "int8", "int4"), default="int8")
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--rate", type=float, default=20.0, help="proxied requests per second")
    parser.add_argument("--count", type=int, default=300, help="proxied requests per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    args = parser.parse_args()
    with gateway(args.model, args.precision) as server:
        results = compare(server, args)
    print(json.dumps(results, indent=1) if args.json else "\n".join(table(results)))
    if args.ledger:
        workload = f"{args.rate:g}/s proxied beside {args.streams} {args.precision} streams, {args.rounds} rounds"
        parts = [f"{kind} p50 {r['p50']:.1f} p99 {r['p99']:.1f} max {r['p100']:.1f}" for kind, r in results.items()]
        add_row("proxied requests beside a busy engine", workload, "ms; " + "; ".join(parts))


if __name__ == "__main__":
    main()
