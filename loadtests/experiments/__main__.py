"""`python -m loadtests.experiments`: what the tests that decide get wrong, and how soon they see what is there.

nulls: 24 worlds without a difference, a look at every request. power: .90 to .93 beside the asymptotic sequence. clusters:
users who come again and fail always or never. rebucket: units that move when weights change. canary: requests until a guardrail
breaks.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from gateway.experiments.crowd import CrowdRates
from gateway.experiments.simulate import at_least, null_suite, power_suite
from loadtests.ledger import add_row
from policies.experiments.assign import variant_of
from policies.experiments.scores import Draw, Scores, see

SEED = 7
CHANGES, UNITS = 200, 4_000
USERS, REQUESTS = 150, 2_000
ALPHA, GUARDRAIL_ALPHA = 0.05, 0.01
LOOK_EVERY = 10
CANARIES = ((0.05, 0.10, 150), (0.05, 0.03, 600), (0.5, 0.10, None), (0.5, 0.03, None), (0.05, 0.005, None))
"""Share of the canary, its rate of errors beside .5 %, and the goal for the median of its requests until it is stopped."""

LONGEST = 40_000


def nulls(runs: int) -> dict[str, Any]:
    found = list(null_suite(runs, SEED))
    worst = max(found, key=lambda null: null.false_stop_rate / null.alpha)
    return {"holds": all(null.holds for null in found), "worst": msgspec.to_builtins(worst), "nulls": len(found)}


def power(runs: int) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(power_suite(runs, SEED))
    return {"holds": found["vs_asympcs"] <= 1.15, **found}


def clusters(runs: int) -> dict[str, Any]:
    """Runs by requests alone, for comparison, and by buckets of users."""
    random, stops = np.random.default_rng(SEED), {"by requests": 0, "by users": 0}
    for _ in range(runs):
        arms, fails, places = random.random(USERS) < 0.5, random.random(USERS) < 0.3, random.random(USERS)
        users = random.integers(0, USERS, REQUESTS)
        for name in stops:
            known = [
                Draw(bool(a), 0.5, 0.5, float(p) if name == "by users" else None)
                for a, p in zip(arms, places, strict=True)
            ]
            stops[name] += stopped([(known[user], float(fails[user])) for user in users])
    rate = {name: count / runs for name, count in stops.items()}
    return {"holds": at_least(stops["by users"], runs) <= ALPHA, "alpha": ALPHA, "runs": runs, "false_stop_rate": rate}


def stopped(outcomes: list[tuple[Draw, float]]) -> bool:
    state = Scores()
    for number, (draw, outcome) in enumerate(outcomes):
        state = see(state, draw, outcome, (), ALPHA)
        if number % LOOK_EVERY == 0 and state.log_e >= -math.log(ALPHA):
            return True
    return False


def rebucket(_: int) -> dict[str, Any]:
    """Weights of two to five variants, and other weights, variants added and taken away among them."""
    random, names = np.random.default_rng(SEED), [f"v{i}" for i in range(6)]
    units = [f"unit-{i}" for i in range(UNITS)]
    excess = []
    for number in range(CHANGES):
        old = weights(random, names[: int(random.integers(2, 6))])
        kept = [name for name in old if random.random() < 0.85] or list(old)[:1]
        new = weights(random, [*kept, *[name for name in names if name not in old and random.random() < 0.3]])
        before = [variant_of((old,), str(number), unit) for unit in units]
        after = [variant_of((old, new), str(number), unit) for unit in units]
        excess.append((sum(a != b for a, b in zip(before, after, strict=True)) - least(before, after)) / UNITS)
    return {"holds": max(excess) <= 0.005, "changes": CHANGES, "units": UNITS, "largest_excess": max(excess)}


def least(before: list[str], after: list[str]) -> int:
    """The fewest units that had to move, given how many each variant had and has."""
    return sum((Counter(before) - Counter(after)).values())


def weights(random: np.random.Generator, names: list[str]) -> Mapping[str, float]:
    return {name: float(weight) for name, weight in zip(names, random.dirichlet(np.ones(len(names))), strict=True)}


def canary(runs: int) -> dict[str, Any]:
    """Median canary requests until the guardrail on errors breaks, a look at each; the last row is an A/A."""
    rows = []
    for share, rate, goal in CANARIES:
        random, rates = np.random.default_rng(SEED), CrowdRates(runs)
        over = np.full(runs, np.inf)
        for _ in range(LONGEST):
            treated = random.random(runs) < share
            rates.see(random.random(runs) < np.where(treated, rate, 0.005), treated, share)
            over = np.where(np.isinf(over) & (rates.log_e >= -math.log(GUARDRAIL_ALPHA)), rates.counts[0], over)
            if not np.isinf(over).any():
                break
        median = None if rate == 0.005 else float(np.median(over))
        rows.append(
            {"share": share, "rate": rate, "median": median, "goal": goal, "stopped": float(np.isfinite(over).mean())}
        )
    within = [row["goal"] is None or row["median"] <= row["goal"] for row in rows]
    return {"holds": all(within) and rows[-1]["stopped"] <= GUARDRAIL_ALPHA, "rows": rows}


PARTS: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "nulls": nulls,
    "power": power,
    "clusters": clusters,
    "rebucket": rebucket,
    "canary": canary,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m loadtests.experiments", description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--only", choices=tuple(PARTS), action="append", help="one part; again for more")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true", help="add a row for each part")
    asked = parser.parse_args()
    found = {}
    for name in asked.only or PARTS:
        found[name] = PARTS[name](asked.runs if name != "clusters" else max(50, asked.runs // 10))
        if not asked.json:
            print(f"{name}: {'holds' if found[name]['holds'] else 'FAILS'}: {json.dumps(found[name])}")
        if asked.ledger:
            add_row(f"experiments, {name}", f"{asked.runs} runs, seed {SEED}", json.dumps(found[name]))
    if asked.json:
        print(json.dumps(found, indent=2))
    raise SystemExit(not all(part["holds"] for part in found.values()))


if __name__ == "__main__":
    main()
