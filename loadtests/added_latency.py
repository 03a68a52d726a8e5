"""Latency that the gateway adds to an upstream, against the bare upstream and against a plain Starlette + httpx proxy.

    python -m loadtests.added_latency [--rate 50] [--count 500] [--rounds 3] [--json] [--ledger]

One scripted upstream; the three ways to it take turns in every round, with the same arrivals; medians of the rounds.
"Added" is the quantile through a proxy minus the same quantile of the bare upstream.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from loadtests.ledger import add_row
from loadtests.openloop import Plan, Shot, fire, quantile
from loadtests.servers import Server, free_port, running, turnout, uvicorn

POLICY = """policy: 1
models:
  small: {{at: "{upstream}/v1"}}
routes:
  - {{name: default, use: small}}
"""
BODY = {"model": "auto", "messages": [{"role": "user", "content": "Where does a turnout lead? " * 30}]}


@contextmanager
def contenders(gap_ms: float) -> Iterator[dict[str, Server]]:
    """The bare upstream, the plain proxy and the gateway, all in front of one upstream process."""
    with ExitStack() as stack:
        port = free_port()
        mock = uvicorn("loadtests.peers.mock_upstream:app", port)
        bare = stack.enter_context(running("bare", mock, port, env={"GAP_MS": str(gap_ms)}))
        port = free_port()
        peer = uvicorn("loadtests.peers.starlette_httpx:app", port)
        plain = stack.enter_context(running("starlette-httpx", peer, port, env={"UPSTREAM": bare.url + "/v1"}))
        policy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "policy.yaml"
        policy.write_text(POLICY.format(upstream=bare.url))
        port = free_port()
        ours = stack.enter_context(running("turnout", turnout(str(policy), port), port, ready="/readyz"))
        yield {"bare": bare, "starlette-httpx": plain, "turnout": ours}


def figures(shots: list[Shot], cpu_s: float) -> dict[str, float]:
    """Milliseconds at the quantiles that matter, errors, and processor time per request."""
    good = [shot for shot in shots if not shot.error]
    gaps = [gap for shot in good for gap in shot.gaps]
    ttfts, totals = [shot.ttft_s for shot in good], [shot.total_s for shot in good]
    result = {"errors": float(len(shots) - len(good)), "cpu_ms": cpu_s * 1000 / max(1, len(shots))}
    for name, values in (("ttft", ttfts), ("total", totals), ("itl", gaps)):
        result |= {f"{name}_p{q}": quantile(values, q / 100) * 1000 for q in (50, 99)}
    return result


async def measure(server: Server, stream: bool, rate: float, count: int, seed: int) -> dict[str, float]:
    before = server.cpu_s()
    plan = Plan(server.url + "/v1/chat/completions", {**BODY, "stream": stream}, rate, count, seed)
    shots = await fire(plan)
    return figures(shots, server.cpu_s() - before)


def compare(
    servers: dict[str, Server], stream: bool, rate: float, count: int, rounds: int
) -> dict[str, dict[str, float]]:
    """Medians over interleaved rounds, after one round that only warms up."""
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
    for turn in range(rounds + 1):
        for name, server in servers.items():
            result = asyncio.run(measure(server, stream, rate, count, seed=turn))
            if turn:
                seen[name].append(result)
    return {name: {key: median(r[key] for r in results) for key in results[0]} for name, results in seen.items()}


def table(kind: str, results: dict[str, dict[str, float]]) -> list[str]:
    bare, lines = (
        results["bare"],
        [f"{kind:<14}{'ttft p50':>10}{'p99':>9}{'total p50':>11}{'added p50':>11}{'p99':>9}{'cpu ms':>8}{'err':>5}"],
    )
    for name, r in results.items():
        added = [r[f"total_p{q}"] - bare[f"total_p{q}"] for q in (50, 99)]
        lines.append(
            f"{name:<14.14}{r['ttft_p50']:>10.2f}{r['ttft_p99']:>9.2f}{r['total_p50']:>11.2f}"
            f"{added[0]:>11.2f}{added[1]:>9.2f}{r['cpu_ms']:>8.2f}{r['errors']:>5.0f}"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=50.0, help="requests per second")
    parser.add_argument("--count", type=int, default=500, help="requests per round and contender")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gap-ms", type=float, default=5.0, help="the upstream's time between two tokens")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--ledger", action="store_true", help="add a row to LEDGER.md")
    args = parser.parse_args()
    with contenders(args.gap_ms) as servers:
        results = {
            kind: compare(servers, kind == "streamed", args.rate, args.count, args.rounds)
            for kind in ("whole", "streamed")
        }
        memory = {name: server.rss_mb() for name, server in servers.items()}
    if args.json:
        print(json.dumps({"results": results, "rss_mb": memory}, indent=1))
    else:
        print("\n".join(line for kind, result in results.items() for line in [*table(kind, result), ""]))
        print("resident MB: " + ", ".join(f"{name} {mb:.0f}" for name, mb in memory.items()))
    if args.ledger:
        for kind, result in results.items():
            _to_ledger(kind, args, result)


def _to_ledger(kind: str, args: argparse.Namespace, results: dict[str, dict[str, float]]) -> None:
    bare = results["bare"]
    parts = [
        f"{name}: added p50 {r['total_p50'] - bare['total_p50']:.2f} ms, p99 {r['total_p99'] - bare['total_p99']:.2f} ms, "
        f"TTFT p50 +{r['ttft_p50'] - bare['ttft_p50']:.2f} ms, {r['cpu_ms']:.2f} ms CPU/request"
        for name, r in results.items()
        if name != "bare"
    ]
    workload = f"{kind}, 16 tokens, {args.rate:g}/s Poisson, {args.count} x {args.rounds} rounds"
    add_row("added latency", workload, "; ".join(parts))


if __name__ == "__main__":
    main()
