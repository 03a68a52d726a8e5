"""What Turnout costs on the way to an upstream that costs nothing, beside every peer that is installed, in one run.

    python -m loadtests.overhead [--json] [--quick] [--peers nginx=/usr/sbin/nginx] [--rounds 3] [--ledger]
    python -m loadtests.overhead --minutes 30 [--json] [--ledger]        # does memory grow under load?

Turnout has everything on: keys, a decision by difficulty (the classifier answers from what it remembers), prefix affinity
between two replicas of each model, prices, metrics, one trace in a hundred, a line of log for each request. It is one
process on one core; the upstream and who asks share the other. Contenders take turns, medians of the rounds count.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from loadtests.ledger import add_row
from loadtests.overhead import rounds
from loadtests.overhead.contenders import BY_DIFFICULTY, BY_NAME, Command, Contender, found, ours, started, upstream
from loadtests.overhead.cores import Cores, two_cores
from loadtests.overhead.report import cell, goals, lines
from loadtests.overhead.soak import soak
from loadtests.servers import Server

QUICK_S = 5.0
"""Of the measuring itself in a quick run; who starts, and streams that begin and end, take the rest of its 40 s."""


def race(options: argparse.Namespace, cores: Cores) -> dict[str, rounds.Figures]:
    """Figures of every contender by its name."""
    commands = found(options.peers)
    plan = rounds.Plan(rounds=options.rounds)
    if options.quick:
        commands.pop("litellm", None)
        plan = rounds.Plan(rounds=1).scaled(QUICK_S / ((len(commands) + 1) * plan.round_s))
    with standing(commands, cores) as (there, bare):
        results = rounds.compare({name: one.server for name, one in there.items()}, bare, plan, cores)
        for name, one in there.items():
            if name == "turnout" or not options.quick:
                results[name] |= rounds.crowded(one.server, cores)
            results[name] |= {"startup_s": one.startup_s, "rss_mb": one.server.rss_mb()}
    results["turnout"] |= {
        "startup_s": alone_startup_s(cores),
        "startup_with_encoder_s": there["turnout"].startup_s,
    }
    return results


def alone_startup_s(cores: Cores) -> float:
    """Of Turnout where no model is in the process, not even the classifier's encoder."""
    with standing({"turnout": ours(BY_NAME)}, cores) as (there, _):
        return there["turnout"].startup_s


@contextmanager
def standing(commands: Mapping[str, Command], cores: Cores) -> Iterator[tuple[dict[str, Contender], Server]]:
    """Everybody who could be started, and the bare upstream; who could not is told of and left out."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        mock = stack.enter_context(upstream(cores))
        there: dict[str, Contender] = {}
        for name, command in commands.items():
            try:
                there[name] = stack.enter_context(started(name, command, mock, folder, cores))
            except RuntimeError as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
        yield there, Server("bare", mock.url, os.getpid())


def soaked(options: argparse.Namespace, cores: Cores) -> rounds.Figures:
    with standing({"turnout": ours(BY_DIFFICULTY)}, cores) as (there, _):
        return soak(there["turnout"].server, options.minutes * 60, cores)


def peer(text: str) -> tuple[str, str]:
    """Raises ArgumentTypeError."""
    name, equals, path = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=PATH")
    return name, path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one short round, within 40 s")
    parser.add_argument(
        "--peers", type=peer, action="append", default=[], metavar="NAME=PATH", help="where a program is"
    )
    parser.add_argument("--minutes", type=float, default=0.0, help="load Turnout alone for so long; what memory does")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--ledger", action="store_true", help="add a row to LEDGER.md")
    options = parser.parse_args()
    options.peers = dict(options.peers)
    cores = two_cores()
    if options.minutes:
        results = {"turnout": soaked(options, cores)}
        what, workload = "memory under load", f"64 connections, {options.minutes:g} minutes"
    else:
        results = race(options, cores)
        what, workload = "overhead", "1 KB and 64 KB, whole and streamed"
    report = {"peers": results, "goals": goals(results)}
    print(json.dumps(report, indent=1) if options.json else "\n".join(lines(results)))
    if options.ledger:
        add_row(what, workload, cell(results))


if __name__ == "__main__":
    main()
