"""`python -m loadtests.decision`: what an estimate of a turn not seen before costs a request, short and long.

The encoder in 8-bit numbers and the library's own take turns, each in its child process, behind the same estimator. From
question to estimate: reading, hashing, pipe, encoder, lexical features, heads. What a policy makes of it is not in it.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import defaultdict
from itertools import count
from statistics import median

from classifiers import artefact
from classifiers.embed import ChildEmbedder
from classifiers.encoder import find_encoder
from classifiers.estimator import Estimator
from classifiers.question import Question
from loadtests.ledger import add_row

_LIBRARY = """
import os, sys
from classifiers.embed_child import encode_frames
from classifiers.encoder import open_encoder
with os.fdopen(os.dup(1), "wb") as answers:
    os.dup2(2, 1)
    encode_frames(open_encoder(sys.argv[1], threads=1), sys.stdin.buffer, answers)
"""
_SHORT = "How far from home is car {} at noon if it left at 8 and drives 60 km an hour?"
_LONG = (
    "A baker in a small town sells rye bread for 4 euros, wheat rolls for 60 cents and a plum cake for 18 euros. On day {} "
    "she baked 35 loaves, 240 rolls and 6 cakes; a third of the rolls went to a school, at 10 % off. Rain kept people "
    "away, so 9 loaves and 31 rolls were left at closing time, and she gave half of what was left to a shelter. Flour "
    "costs her 1.10 euros a kilo: a loaf takes 0.7 kg, ten rolls take 0.5 kg, a cake takes 0.4 kg. Her oven burns 22 "
    "euros of gas, and her helper gets 85 euros. On Sundays she sells "
    "a quarter less at the same cost, and in July the rent of 310 euros falls due. How much did she earn that day, and "
    "would it pay to bake 5 cakes more?"
)
SIZES = {"20 tokens": _SHORT, "200 tokens": _LONG}
Times = dict[str, dict[str, list[float]]]


def open_contenders() -> dict[str, Estimator]:
    """By name; both have answered once."""
    source, opened = find_encoder(None), artefact.load(artefact.SHIPPED)
    library = (sys.executable, "-c", _LIBRARY, source)
    embedders = {"8-bit": ChildEmbedder(source), "library": ChildEmbedder(source, command=library)}
    for embedder in embedders.values():
        embedder.submit("hello").result()
    return {name: Estimator(opened, embedder) for name, embedder in embedders.items()}


async def measure(rounds: int) -> Times:
    """Milliseconds of single estimates, by contender and size."""
    contenders, times, fresh = open_contenders(), defaultdict[str, dict[str, list[float]]](dict), count(1000)
    for _ in range(rounds):
        for name, estimator in contenders.items():
            await _estimate_ms(
                estimator, f"Is {next(fresh)} even?"
            )  # wakes a process that slept through the other's turn
            for size, text in SIZES.items():
                times[name].setdefault(size, []).append(await _estimate_ms(estimator, text.format(next(fresh))))
    for estimator in contenders.values():
        await estimator.aclose()
    return times


async def _estimate_ms(estimator: Estimator, text: str) -> float:
    started = time.perf_counter()
    estimate = await estimator.estimate(Question((text,)), within_s=10)
    if estimate.abstains:
        raise SystemExit(f"no estimate: {estimate.abstains}")
    return (time.perf_counter() - started) * 1000


def figures(times: Times) -> dict[str, dict[str, dict[str, float]]]:
    """p50, p95 and best; noise of other work only ever adds, so the best is what the code alone costs."""
    return {
        name: {
            size: {
                "p50": round(median(ms), 2),
                "p95": round(sorted(ms)[int(len(ms) * 0.95)], 2),
                "best": round(min(ms), 2),
            }
            for size, ms in sizes.items()
        }
        for name, sizes in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="milliseconds of an estimate, by length of the turn")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    asked = parser.parse_args()
    found = figures(asyncio.run(measure(asked.rounds)))
    for name, sizes in found.items():
        for size, ms in sizes.items():
            print(
                f"{name:8} {size:10} " + "  ".join(f"{key} {value:.2f} ms" for key, value in ms.items()),
                file=sys.stderr,
            )
    if asked.json:
        print(json.dumps(found))
    if asked.ledger:
        add_row(
            "an estimate, encoder in 8 bits against the library",
            f"{asked.rounds} turns a size, one thread",
            json.dumps(found),
        )


if __name__ == "__main__":
    main()
