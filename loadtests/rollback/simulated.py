"""The real assignment, evidence and fold, request by request, without sockets: what a keeper does, on a clock that stands."""

import itertools
import random
from collections.abc import Iterator
from statistics import median, quantiles
from typing import Any, NamedTuple

from gateway.experiments.bench import Bench, Over
from gateway.experiments.simulate import at_least
from policies.estimates import Calibration
from policies.experiments.assign import assign
from policies.experiments.plan import CANARY, REST, Experiment
from policies.experiments.trial import Exposure
from policies.language.load import load_policy

POLICY = """policy: 1
models: {{m: {{at: "http://127.0.0.1:1/v1", serves: first}}}}
routes: [{{name: default, use: m}}]
guardrails: {{errors: {{metric: error_rate, worse_by: 0.5pp, alpha: 1%}}}}
rollouts:
  - name: next
    unit: {unit}
    compare_with: {compare_with}
    change: {{models.m.serves: second}}
    steps: [{{traffic: {share:g}%, for: 300d}}]
    watch: [errors]
"""

KINDS = (("request", "matched"), ("request", "rest"), ("conversation", "matched"), ("conversation", "rest"))
"""Units, and what the canary is compared with."""


class Plan(NamedTuple):
    """`runs` of a canary with this `share`; `length` of its requests where it is as good as control."""

    runs: int
    rates: tuple[float, float]
    share: float
    goal: int
    length: int


def rollout(unit: str, compare_with: str, share: float) -> Experiment:
    text = POLICY.format(unit=unit, compare_with=compare_with, share=100 * share)
    loaded = load_policy(text, name="rollback.yaml", calibrate=lambda _: Calibration(p_good={}))
    assert loaded.policy is not None, loaded.problems
    return loaded.policy.experiments[0]


def exposures(experiment: Experiment, bench: Bench, run: str) -> Iterator[Exposure]:
    """Those of an endless row of units, as decisions would give them."""
    ramp = bench.ramps[experiment.name]
    now = experiment.ramped(ramp)
    rest = round(1 - sum(now.weights.values()), 9)
    chances = {**now.weights, REST: rest} if rest > 0 else dict(now.weights)
    for number in itertools.count():
        unit = f"{run}-{number}"
        found = assign(now, unit)
        yield Exposure(now.name, REST if found is None else found.variant, unit, chances)


def until_rollback(experiment: Experiment, rates: tuple[float, float], most: int, run: int) -> int | None:
    """Requests of the canary until it is taken back; None where it is not within `most` requests of all."""
    draws, bench, canaries = random.Random(run), Bench(most=16), 0
    bench.load((experiment,), {}, 0.0)
    for number, exposure in enumerate(exposures(experiment, bench, str(run))):
        is_canary = exposure.variant == CANARY
        canaries += is_canary
        failed = draws.random() < rates[is_canary]
        over = Over(at=0.0, tenant="t", request_id=str(number), exposures=(exposure,), values={"error": float(failed)})
        bench.take((over,), 0.0)
        if bench.forced:
            return canaries
        if number + 1 >= most:
            return None
    return None


def drill(unit: str, compare_with: str, plan: Plan) -> dict[str, Any]:
    """With a canary that fails as often as `rates` say beside control, and with one that fails as control does."""
    experiment, most = rollout(unit, compare_with, plan.share), round(20 * plan.goal / plan.share)
    bad = [until_rollback(experiment, plan.rates, most, run) for run in range(plan.runs)]
    good = plan.rates[0], plan.rates[0]
    same = [until_rollback(experiment, good, round(plan.length / plan.share), -1 - run) for run in range(plan.runs)]
    counts = [most if found is None else found for found in bad]
    false = sum(found is not None for found in same)
    return {
        "holds": median(counts) <= plan.goal and at_least(false, plan.runs) <= 0.01,
        "median_canary_requests": median(counts),
        "p90_canary_requests": quantiles(counts, n=10)[-1],
        "rolled_back": sum(found is not None for found in bad) / plan.runs,
        "aa_rollbacks": false / plan.runs,
        "aa_at_least": at_least(false, plan.runs),
        "aa_canary_requests_each": plan.length,
    }
