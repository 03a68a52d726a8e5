"""What a second replica does to the tail: two replicas of which each stalls now and then, hedged and not.

    python -m loadtests.hedging [--stalls 0.01] [--stall-ms 400] [--rate 40] [--count 600] [--rounds 2] [--json] [--ledger]

Two gateways over the same replicas take turns: TTFT of streams from their scheduled moment, and the share that was raced.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from loadtests.ledger import add_row
from loadtests.openloop import Plan, Shot, fire, quantile
from loadtests.servers import Server, free_port, running, turnout, uvicorn

BODY: dict[str, object] = {"model": "auto", "messages": [{"role": "user", "content": "hi"}], "stream": True}
HEDGE = {"hedge": {"after": "p95 of ttft", "budget": "4%", "unless": {"load": {"over": "70%"}}}}


@contextmanager
def contenders(args: argparse.Namespace) -> Iterator[Mapping[str, Server]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stalls = {"STALLS": str(args.stalls), "STALL_MS": str(args.stall_ms)}
        at = []
        for name in ("one", "other"):
            port = free_port()
            command = uvicorn("loadtests.peers.mock_upstream:app", port)
            at.append(f"{stack.enter_context(running(name, command, port, env=stalls)).url}/v1")
        found = {}
        for name, resilience in (("plain", {}), ("hedged", HEDGE)):
            policy = {"policy": 1, "models": {"m": {"at": at}}, "routes": [{"use": "m"}], "resilience": resilience}
            file, port = folder / f"{name}.yaml", free_port()
            file.write_text(json.dumps(policy))
            env = {"TURNOUT_TELEMETRY__LOG": "off"}
            found[name] = stack.enter_context(running(name, turnout(str(file), port), port, env=env, ready="/readyz"))
        yield found


def hedges_of(server: Server) -> int:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=5) as answer:
        page = answer.read().decode()
    return sum(int(float(value)) for value in re.findall(r'^router_hedges_total\{.*"m".*\} (\S+)$', page, re.MULTILINE))


def measure(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    shots: dict[str, list[list[Shot]]] = {"plain": [], "hedged": []}
    with contenders(args) as found:
        for turn in range(args.rounds + 1):
            for name, server in found.items():
                plan = Plan(f"{server.url}/v1/chat/completions", BODY, args.rate, args.count, turn)
                shots[name].append(asyncio.run(fire(plan)))
        hedges = {name: hedges_of(server) for name, server in found.items()}
    return {
        name: figures(rounds[1:], hedges[name] / (args.count * (args.rounds + 1))) for name, rounds in shots.items()
    }


def figures(rounds: list[list[Shot]], hedged: float) -> dict[str, float]:
    """The first round is a warm-up, in which the waits are learnt."""
    waits = [[shot.ttft_s * 1e3 for shot in shots if not shot.error] for shots in rounds]
    told = {f"ttft_p{q:g}_ms": round(median([quantile(one, q / 100) for one in waits]), 1) for q in (50, 95, 99, 99.5)}
    return {**told, "hedged": round(hedged, 4), "errors": sum(bool(shot.error) for shots in rounds for shot in shots)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stalls", type=float, default=0.01)
    parser.add_argument("--stall-ms", type=float, default=400.0)
    parser.add_argument("--rate", type=float, default=40.0)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    args = parser.parse_args()
    found = measure(args)
    print(json.dumps(found) if args.json else "\n".join(f"{name}: {told}" for name, told in found.items()))
    if args.ledger:
        workload = (
            f"{args.stalls:.1%} of answers stall {args.stall_ms:g} ms; {args.rate:g}/s, {args.count} x {args.rounds}"
        )
        add_row("a second replica beside a silent one (p95 of ttft, budget 4 %)", workload, json.dumps(found))
    return 0 if found["hedged"]["hedged"] <= 0.04 and not found["hedged"]["errors"] else 1


if __name__ == "__main__":
    sys.exit(main())
