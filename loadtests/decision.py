"""`python -m loadtests.decision`: what deciding about a turn not seen before costs a request, short and long.

Three ways take turns, each with its own child process: the tiered path as live requests take it, the encoder in 8-bit numbers
for every turn, and the library's encoder for every turn. From question to decision: the quick stage, deciding at both its ends,
and where these differ hashing, pipe, encoder, features and heads; then the decision of a policy with two models.
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from statistics import fmean, median

import msgspec

from classifiers import artefact
from classifiers.embedding.embedder import ChildEmbedder
from classifiers.embedding.encoder import find_encoder
from classifiers.estimator import Estimator
from classifiers.question import Question
from loadtests.decision_texts import own_texts, texts_of
from loadtests.ledger import add_row
from policies.decide import decide
from policies.facts import Facts
from policies.language.load import load_policy
from policies.policy import Policy
from policies.snapshot import ReplicaState, Snapshot
from policies.unsettled import unsettled

_LIBRARY = """
import os, sys
from classifiers.embedding.child import encode_frames
from classifiers.embedding.encoder import open_encoder
with os.fdopen(os.dup(1), "wb") as answers:
    os.dup2(2, 1)
    encode_frames(open_encoder(sys.argv[1], threads=1), sys.stdin.buffer, answers)
"""
_RULES = """
policy: 1
models: {small: {at: 'http://small/v1'}, large: {at: 'http://large/v1'}}
routes: [{name: default, choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}}]
"""
TIERED = "tiered"
WITHIN_S = 10.0


class Timed(msgspec.Struct, frozen=True):
    """One decision: its milliseconds, and which stage sufficed."""

    ms: float
    stage: str


Times = dict[str, dict[str, list[Timed]]]


class Decider:
    """Estimates and decides; tiered, or with every turn embedded."""

    def __init__(self, estimator: Estimator, *, is_tiered: bool) -> None:
        found = load_policy(_RULES, name="loadtest", calibrate=lambda _: estimator.calibration)
        if found.policy is None:
            raise SystemExit("\n".join(problem.render() for problem in found.problems))
        self.estimator, self._policy, self._is_tiered = estimator, found.policy, is_tiered
        self._idle = idle(found.policy)

    async def decide(self, text: str) -> Timed:
        started = time.perf_counter()
        facts = Facts(prompt_tokens=len(text) // 3)
        quick = (lambda span: unsettled(self._policy, facts, span, self._idle)) if self._is_tiered else None
        estimate = await self.estimator.estimate(Question((text,)), WITHIN_S, quick)
        decide(self._policy, facts, estimate, self._idle)
        return Timed((time.perf_counter() - started) * 1000, estimate.stage or estimate.abstains)


def idle(policy: Policy) -> Snapshot:
    states = {name: tuple(ReplicaState(replica=at) for at in model.at) for name, model in policy.models.items()}
    return Snapshot(replicas=states)


def open_contenders() -> dict[str, Decider]:
    """By name; each encoder has answered once."""
    source, opened = find_encoder(None), artefact.load(artefact.SHIPPED)
    library = (sys.executable, "-c", _LIBRARY, source)
    embedders = {
        TIERED: ChildEmbedder(source),
        "8-bit": ChildEmbedder(source),
        "library": ChildEmbedder(source, command=library),
    }
    for embedder in embedders.values():
        embedder.submit("hello").result()
    return {
        name: Decider(Estimator(opened, embedder), is_tiered=name == TIERED) for name, embedder in embedders.items()
    }


async def measure(rounds: int, prompts: Path | None) -> Times:
    """Single decisions, by contender and size; a file of prompts may have fewer than `rounds` of a size."""
    contenders = open_contenders()
    texts = texts_of(prompts) if prompts else own_texts()
    times: Times = {name: {size: [] for size in texts} for name in contenders}
    for at in range(rounds):
        fresh = {size: text for size, some in texts.items() if (text := next(some, None)) is not None}
        for name, decider in contenders.items():
            # Wakes a process that slept through the others' turns.
            await decider.estimator.estimate(Question((f"Is {at} even?",)), WITHIN_S)
            for size, text in fresh.items():
                times[name][size].append(await decider.decide(text))
    for decider in contenders.values():
        await decider.estimator.aclose()
    return times


def figures(times: Times) -> dict[str, dict[str, dict[str, float]]]:
    """p50, mean, p95 and best in ms, and the share that the quick stage answered. Noise of other work only ever adds."""
    return {name: {size: _figures(some) for size, some in sizes.items() if some} for name, sizes in times.items()}


def _figures(some: list[Timed]) -> dict[str, float]:
    ms = sorted(one.ms for one in some)
    found = {"p50": median(ms), "mean": fmean(ms), "p95": ms[int(len(ms) * 0.95)], "best": ms[0]}
    quick = sum(one.stage == "quick" for one in some) / len(some)
    return {**{name: round(value, 2) for name, value in found.items()}, "quick": round(quick, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description="milliseconds of a decision, by length of the turn")
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument(
        "--prompts", type=Path, help="CSV with a column prompt (default: turns of many kinds of our own)"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    asked = parser.parse_args()
    found = figures(asyncio.run(measure(asked.rounds, asked.prompts)))
    for name, sizes in found.items():
        for size, numbers in sizes.items():
            told = "  ".join(f"{key} {value:.2f} ms" for key, value in numbers.items() if key != "quick")
            print(f"{name:8} {size:10} {told}  quick {numbers['quick']:.0%}", file=sys.stderr)
    if asked.json:
        print(json.dumps(found))
    if asked.ledger:
        add_row(
            "a decision on a new turn: tiered, and every turn embedded",
            f"{asked.rounds} turns a size, one thread",
            json.dumps(found),
        )


if __name__ == "__main__":
    main()
