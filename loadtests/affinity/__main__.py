"""Which replica gets which prompt: ours beside others' rules, on a trace, by a virtual clock.

    python -m loadtests.affinity --trace FILE [--replicas 8] [--loads 0.5 0.8 1.0] [--scenarios "as it is" ...]
                                 [--json] [--ledger]

FILE is a trace of Mooncake's (JSON lines with hash_ids) or of Azure's (a table of times and lengths, which shares nothing).
As JSON the first scenario is at the top: `ours` beside each rival by its name, with hit_share_of_ceiling, imbalance,
ttft_p50_s, ttft_p90_s and ttft_p99_s; all of them are under `scenarios`. The choice, the index and the count of work are the
gateway's own code; the servers are simulated. The same seed gives the same numbers.
"""

import argparse
import json
from pathlib import Path

from rich.console import Console

from loadtests.affinity.fleet import Choosing, drive
from loadtests.affinity.ours import Ours
from loadtests.affinity.report import Numbers, Result, as_json, in_a_row, numbers, show
from loadtests.affinity.rivals import RIVALS
from loadtests.affinity.scenarios import KINDS, Scenario, scenarios
from loadtests.affinity.traces import read
from loadtests.ledger import add_row


def measure(scenario: Scenario) -> Result:
    def under(choosing: Choosing) -> Numbers:
        return numbers(drive(scenario.trace, scenario.pool, choosing), scenario)

    return Result(scenario, under(Ours), {name: under(choosing) for name, choosing in RIVALS.items()})


def main() -> None:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m loadtests.affinity", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.5, 0.8, 1.0])
    parser.add_argument("--scenarios", nargs="+", choices=list(KINDS), default=["as it is"])
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--ledger", action="store_true", help="add a row to LEDGER.md")
    args = parser.parse_args()
    if args.replicas < 2:
        parser.error("--replicas: a choice needs two at least")
    try:
        trace = read(args.trace)
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"--trace {args.trace}: {error}")
    found = scenarios(trace, args.replicas, tuple(args.loads), tuple(args.scenarios))
    results = [measure(scenario) for scenario in found]
    show(results, Console(stderr=args.json, width=140))
    if args.json:
        print(json.dumps(as_json(results), indent=2))
    if args.ledger:
        add_row("affinity", f"{args.trace.name}, {args.replicas} simulated replicas", in_a_row(results))


if __name__ == "__main__":
    main()
