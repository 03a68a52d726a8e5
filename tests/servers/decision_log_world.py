"""A log in a folder, decisions to put in it, and the way to see what is there."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from backends.messages import Usage
from gateway.decisions.log import DecisionLog
from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord, Record
from gateway.decisions.segments import Segments
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from gateway.secrets import Secret
from gateway.telemetry.redact import Redactor
from policies.decide import decide
from policies.decision import Call
from policies.estimates import Calibration, Estimate
from policies.facts import Facts
from policies.language.load import load_policy
from policies.policy import Line, Policy
from policies.snapshot import ReplicaState, Snapshot

TEXT = """
policy: 1
models:
  small: {at: ['http://s0/v1', 'http://s1/v1'], price: {input: $0.1/M, output: $0.4/M}, fits: {context: 8k}}
  large: {at: 'http://l0/v1', price: {input: $2/M, output: $8/M}, fits: {context: 32k}, can: [tools]}
escalations:
  careful: {when: {p_correct: {under: 50%}}, to: large}
routes:
  - {name: tools, when: {has: tools}, use: large}
  - name: default
    choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}
    escalate: careful
"""

SAMPLE = Calibration(
    p_good={"small": tuple(i / 200 for i in range(200)), "large": tuple(0.5 + i / 400 for i in range(200))},
    artefact="made-up",
)


def load(text: str = TEXT) -> Policy:
    loaded = load_policy(text, name="test.yaml", calibrate=lambda _: SAMPLE)
    assert loaded.policy is not None, "\n".join(problem.render() for problem in loaded.problems)
    return loaded.policy


def world(i: int) -> Snapshot:
    states = (
        ReplicaState(replica="http://s0/v1", queued_tokens=i % 7 * 100, running=i % 3, resident_tokens=i % 2 * 64),
        ReplicaState(replica="http://s1/v1", ready=i % 11 != 0, why_not="" if i % 11 else "silent"),
    )
    large = (ReplicaState(replica="http://l0/v1", running=i % 5),)
    return Snapshot(replicas={"small": states, "large": large}, now=1_800_000_000.5 + i, draw=i % 10 / 10)


def judged(policy: Policy, i: int, **facts: object) -> Judged:
    """The i-th of many requests that differ in all that deciding reads; with the line of its moment."""
    told = {
        "requested": "nobody" if i % 19 == 1 else "small" if i % 17 == 1 else "auto",
        "prompt_tokens": 50 + i * 37 % 40_000,
        "needs": frozenset({"tools"} if i % 13 == 1 else ()),
        "stream": bool(i % 2),
        "max_tokens": None if i % 3 else 64,
        "prefix": f"{i:08x}",
    }
    known = Facts(**{**told, **facts})
    chance = {"small": i * 7 % 101 / 101, "large": 0.5 + i * 3 % 101 / 202}
    estimate = Estimate(p_good=chance, earlier=(chance,) * (i % 3), artefact="made-up", took_us=i)
    drawn = policy.redrawn({"default": Line(1.0 + i % 17 / 7, 2.0 + i % 5)})
    snapshot = world(i)
    return Judged(known, estimate, decide(drawn, known, estimate, snapshot), snapshot, {})


def settlement(i: int, **told: object) -> Settlement:
    known = {
        "request_id": f"req_{i}",
        "dialect": "openai_chat",
        "tenant": "acme",
        "stream": False,
        "status": 200,
        "end": "stop",
        "attempts": 1,
        "duration_ms": 12.5,
        "ttft_ms": 3.25,
        "answered_by": Call("small", "http://s0/v1"),
        "usage": Usage(60, 40, 32),
        "microusd": 17,
    }
    return Settlement(**{**known, **told})


@dataclass
class KeptLog:
    """A log with its losses. `close` writes what waits."""

    folder: Path
    log: DecisionLog
    lost: list[int] = field(default_factory=list)

    async def close(self) -> None:
        await self.log.aclose()

    def records(self) -> list[Record]:
        return list(read_log(self.folder))

    def text(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.rglob("*")) if path.is_file())


def keep_log(
    folder: Path,
    *,
    most: int = 100_000,
    segment_bytes: int = 1 << 26,
    total_bytes: int = 1 << 30,
    start: bool = True,
    now: Callable[[], float] = time.time,
) -> KeptLog:
    clock: Iterator[int] = iter(range(10**9))
    segments = Segments(
        folder, segment_bytes=segment_bytes, segment_s=3600, total_bytes=total_bytes, now=lambda: next(clock) / 1e6
    )
    lost: list[int] = []
    redactor = Redactor([Secret("hunter2-of-the-upstream")])
    log = DecisionLog(segments, redactor, most=most, dropped=lost.append, now=now)
    if start:
        log.start()
    return KeptLog(folder, log, lost)


def raw_decisions(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Request id and the bytes of the decision, as they are on disk."""

    class Line(msgspec.Struct):
        request_id: str
        decision: msgspec.Raw = msgspec.Raw(b"")

    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            found = msgspec.json.decode(line, type=Line)
            yield found.request_id, bytes(found.decision)


def only_decisions(records: list[Record]) -> list[DecisionRecord]:
    return [record for record in records if isinstance(record, DecisionRecord)]
