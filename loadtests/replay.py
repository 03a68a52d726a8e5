"""How fast a log is decided again: 20,000 decisions of two processes, from disk, by their policy and by another one.

    python -m loadtests.replay [--count 20000] [--json] [--ledger]

Seconds of processor time, best of three: the logs' own policy (every decision must come out byte for byte), another policy
with intervals of cost and quality, and the bytes of a record. The logs explore, and a third of their answers is rated.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from backends.messages import Usage
from gateway.decisions.log import DecisionLog
from gateway.decisions.read import read_log
from gateway.decisions.record import FeedbackRecord
from gateway.decisions.replay import compare, policies_beside, replay
from gateway.decisions.segments import Segments
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from gateway.telemetry.redact import Redactor
from loadtests.ledger import add_row
from policies.decide import decide
from policies.decision import Call
from policies.estimates import Calibration, Estimate
from policies.facts import Facts
from policies.language.load import load_policy
from policies.policy import Policy
from policies.snapshot import ReplicaState, Snapshot

TEXT = """
policy: 1
models:
  small: {at: ['http://s0/v1', 'http://s1/v1'], price: {input: $0.1/M, output: $0.4/M}}
  large: {at: 'http://l0/v1', price: {input: $2/M, output: $8/M}}
routes:
  - {name: default, choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}, explore: 10%}
"""
SAMPLE = Calibration(
    p_good={"small": tuple(i / 200 for i in range(200)), "large": tuple(0.5 + i / 400 for i in range(200))}
)
AT = {"small": Call("small", "http://s0/v1"), "large": Call("large", "http://l0/v1")}


def policy_of(text: str) -> Policy:
    loaded = load_policy(text, name="bench.yaml", calibrate=lambda _: SAMPLE)
    assert loaded.policy is not None
    return loaded.policy


def judged(policy: Policy, i: int, dice: random.Random) -> Judged:
    facts = Facts(prompt_tokens=dice.randrange(50, 4_000), prefix=f"{i:032x}", user_turns=1 + i % 3)
    chance = {"small": dice.random(), "large": 0.5 + dice.random() / 2}
    estimate = Estimate(p_good=chance, earlier=(chance,) * (i % 3), artefact="made-up")
    states = {
        "small": tuple(ReplicaState(replica=f"http://s{n}/v1", running=dice.randrange(4)) for n in range(2)),
        "large": (ReplicaState(replica="http://l0/v1", running=dice.randrange(4)),),
    }
    snapshot = Snapshot(replicas=states, now=1.8e9 + i, draw=dice.random())
    return Judged(facts, estimate, decide(policy, facts, estimate, snapshot), snapshot, {})


def settlement(request_id: str, one: Judged, dice: random.Random) -> Settlement:
    assert isinstance(one.decision.choice, Call)
    model = one.decision.choice.model
    return Settlement(
        request_id=request_id, dialect="openai_chat", tenant="acme", stream=True, status=200, end="stop", attempts=1,
        duration_ms=900.0, ttft_ms=120.0, answered_by=AT[model], usage=Usage(one.facts.prompt_tokens, dice.randrange(900)),
        microusd=round(dice.expovariate(1 / 50) * (20 if model == "large" else 1)),
    )  # fmt: skip


async def write_log(folder: Path, count: int, seed: int) -> None:
    policy, dice = policy_of(TEXT), random.Random(seed)
    segments = Segments(folder, segment_bytes=1 << 26, segment_s=3600, total_bytes=1 << 32, now=time.time)
    log = DecisionLog(segments, Redactor(), most=2 * count, dropped=lambda n: sys.exit(f"{n} records were lost"))
    log.policy_loaded(policy, TEXT)
    for i in range(count):
        one, request_id = judged(policy, i, dice), f"req_{seed}_{i}"
        log.settled(one, settlement(request_id, one, dice))
        if i % 3 == 0:
            rating = "good" if dice.random() < 0.8 else "bad"
            log.heard(FeedbackRecord(at=one.snapshot.now, request_id=request_id, tenant="acme", rating=rating))
    log.start()
    await log.aclose(within_s=600)


def best(work: Callable[[], object], runs: int = 3) -> float:
    """Least seconds of processor time."""
    spent = []
    for _ in range(runs):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def measure(count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for seed in (1, 2):
            asyncio.run(write_log(folder / f"process-{seed}", count // 2, seed))
        again = replay(read_log(folder), policies_beside(folder))
        assert (again.replayed, again.differ) == (count, ()), again
        other = policy_of(TEXT.replace("cost: 40%", "cost: 60%"))
        return {
            "decisions": count,
            "replay_s": round(best(lambda: replay(read_log(folder), policies_beside(folder))), 2),
            "compare_s": round(best(lambda: compare(read_log(folder), policies_beside(folder), other)), 2),
            "bytes_a_record": round(sum(path.stat().st_size for path in folder.rglob("*.jsonl")) / count),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    asked = parser.parse_args()
    found = measure(asked.count)
    told = (
        f"replay {found['replay_s']} s, byte for byte; another policy with intervals {found['compare_s']} s; "
        f"{found['bytes_a_record']} bytes a decision"
    )
    print(json.dumps(found) if asked.json else told)
    if asked.ledger:
        add_row("a log decided again", f"{asked.count:,} decisions of two processes that explore, s of one core", told)


if __name__ == "__main__":
    main()
