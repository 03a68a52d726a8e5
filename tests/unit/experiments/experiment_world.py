"""Requests of a policy with one experiment, decided and over, without a socket."""

import itertools

import msgspec

from gateway.experiments.keeper import Keeper
from gateway.request.judge import Judged
from gateway.request.settlement import End, Settlement
from policies.decide import decide
from policies.estimates import Calibration, Estimate
from policies.experiments.enrol import Ramps
from policies.facts import Facts
from policies.language.load import load_policy
from policies.policy import Policy
from policies.snapshot import ReplicaState, Snapshot

POLICY = """policy: 1
models: {m: {at: "http://127.0.0.1:9001/v1"}}
routes: [{name: default, use: m}]
guardrails: {errors: {metric: error_rate, worse_by: 1pp}}
experiments:
  - name: second
    unit: request
    variants: {control: {weight: 1}, treat: {weight: 1, set: {models.m.serves: other}}}
    measure: {primary: {metric: task_success}, also: [regenerate_rate, feedback_score]}
    watch: [errors]
"""

HERE = Snapshot(replicas={"m": (ReplicaState(replica="http://127.0.0.1:9001/v1"),)})
UNKNOWN = Estimate(abstains="nobody asks")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def policy(text: str = POLICY) -> Policy:
    loaded = load_policy(text, name="p.yaml", calibrate=lambda _: Calibration(p_good={}))
    assert loaded.policy is not None, loaded.problems
    return loaded.policy


class Requests:
    """Requests that come to a keeper, each of a unit of its own."""

    def __init__(self, keeper: Keeper, chosen: Policy, prefix: str = "r") -> None:
        self.keeper, self.policy, self.prefix = keeper, chosen, prefix
        self.numbers = itertools.count()
        self.ramps: Ramps = {}

    def one(self, *, bad: str = "", left: str = "", end: End = "stop", unit: str | None = None) -> tuple[str, str]:
        """Its id and its variant. `bad` fails, and clients of `left` leave."""
        name = f"{self.prefix}-{next(self.numbers)}"
        facts = Facts(units={"request": name if unit is None else unit} if unit != "" else {})
        here = msgspec.structs.replace(HERE, ramps=self.ramps)
        decision = decide(self.policy, facts, UNKNOWN, here)
        variant = decision.assignments[0].variant if decision.assignments else ""
        failed = bool(bad) and variant == bad
        self.keeper.settled(
            self.policy.experiments,
            Judged(facts, UNKNOWN, decision, here, {}),
            Settlement(
                request_id=name,
                dialect="openai_chat",
                tenant="t",
                stream=False,
                status=500 if failed else 200,
                end="error" if failed else "cancelled" if left and variant == left else end,
                attempts=1,
                duration_ms=10.0,
                ttft_ms=5.0,
                decision=decision,
            ),
        )
        return name, variant
