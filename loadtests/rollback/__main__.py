"""`python -m loadtests.rollback --runs N --errors 0.5% 10%`: how many requests a bad canary gets before it is taken back.

simulated: the real assignment, evidence and fold, with units that come once (request) and that may come again (conversation),
beside a control sample as big as the canary (matched) and beside everybody else (rest); and the same with canaries that are as
good as control. live: a gateway over loopback with the bad version behind it, streams under way.
"""

import argparse
import json
from typing import Any

from loadtests.ledger import add_row
from loadtests.rollback import live, simulated

SHARE = 0.05


def rate(text: str) -> float:
    """
    >>> rate("0.5%")
    0.005
    """
    return round(float(text.rstrip("%")) / 100, 9)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m loadtests.rollback", description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="simulated rollouts of each kind")
    parser.add_argument("--live-runs", type=int, default=5, help="rounds against a running gateway; 0 for none")
    parser.add_argument("--errors", nargs=2, type=rate, default=(0.005, 0.1), metavar=("CONTROL", "CANARY"))
    parser.add_argument("--goal", type=int, default=150, help="the median of the canary's requests at most")
    parser.add_argument("--length", type=int, default=1_000, help="the canary's requests where it is as good")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    asked = parser.parse_args()
    rates = (asked.errors[0], asked.errors[1])
    found: dict[str, dict[str, Any]] = {
        f"{unit}, {compare_with}": simulated.drill(
            unit, compare_with, simulated.Plan(asked.runs, rates, SHARE, asked.goal, asked.length)
        )
        for unit, compare_with in simulated.KINDS
    }
    if asked.live_runs:
        found["live"] = live.drill(asked.live_runs, rates, asked.goal)
    print(json.dumps(found, indent=2 if asked.json else None))
    if asked.ledger:
        workload = f"errors {100 * rates[0]:g} to {100 * rates[1]:g}%, {asked.runs} runs, {asked.live_runs} live"
        add_row("rollback of a bad canary", workload, json.dumps(found))
    raise SystemExit(not all(part["holds"] for part in found.values()))


if __name__ == "__main__":
    main()
