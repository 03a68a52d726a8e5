"""Our engine beside the engines of others: decode, prefill, TTFT, memory, load, share of the memory bandwidth, speculation.

    python -m loadtests.engine --model DIR_OR_GGUF [--precisions int8 int4] [--rounds 3 | --quick] [--peers NAME=PYTHON ...]
                               [--json [FILE]] [--ledger]

Peers are `transformers`, `llamacpp` (needs a GGUF), `openvino` and `vllm`, each with the interpreter that has it; without
--peers those that this interpreter has, with an empty --peers none. --json alone prints the results to stdout, and the tables
to stderr. Contenders take turns, each round of each in a process of its own; medians count, least and most are kept. With
--patience each round waits for quiet, with --tries it is repeated when neighbours were busy, and the quietest try counts.
Ctrl-C ends the race and reports the rounds so far.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

from backends.engine.weights.opening import open_weights
from loadtests.engine.contenders import (
    SCRIPTS,
    Contender,
    Places,
    RoundFailed,
    Tree,
    installed,
    ours,
    peers,
    prepare,
    speculating,
)
from loadtests.engine.goals import verdicts
from loadtests.engine.neighbours import QUIET_SHARE, Clock, await_quiet, foreign_share
from loadtests.engine.report import in_short, page
from loadtests.engine.summary import at, branch, medians, merged, spread
from loadtests.engine.workload import DECODE_NEW, DECODE_PROMPT, PREFILL_TOKENS, workload, write_workload
from loadtests.ledger import add_row, commit, machine
from policies.catalogue import Run

STDOUT = "-"


class Race:
    """Rounds of all contenders, and what became of them."""

    def __init__(self, contenders: Sequence[Contender], patience_s: float, tries: int) -> None:
        self.contenders = contenders
        self.rounds: dict[Contender, list[Tree]] = {contender: [] for contender in contenders}
        self.busy: dict[str, list[float]] = {}
        self.failed: dict[str, str] = {}
        self._patience_s = patience_s
        self._tries = tries

    def run(self, rounds: int) -> None:
        for turn in range(rounds):
            for contender in self.contenders:
                name = f"{contender.group} {contender.name}"
                if name not in self.failed:
                    self._round(contender, name, turn)

    def _round(self, contender: Contender, name: str, turn: int) -> None:
        """Keep the quietest of at most `tries`. What is kept is chosen by the neighbours, never by the result."""
        tried: list[tuple[float, Tree]] = []
        while len(tried) < self._tries and (not tried or tried[-1][0] > QUIET_SHARE):
            await_quiet(self._patience_s)
            before = Clock.read()
            try:
                found = contender.round()
            except RoundFailed as why:
                self.failed[name] = str(why)
                return
            tried.append((foreign_share(before), found))
        share, found = min(tried, key=itemgetter(0))
        self.rounds[contender].append(found)
        self.busy.setdefault(name, []).append(round(share, 2))
        speed = at(found, ("decode_tps", "1"))
        said = f"round {turn + 1} {name}: others {share:.2f} cores, {len(tried)} tries"
        print(said + (f", b1 {speed:.0f}" if speed else ""), file=sys.stderr)

    def results(self) -> Tree:
        found: Tree = {"neighbours": self.busy, "failed": self.failed, "spread": {}}
        for contender, rounds in self.rounds.items():
            if rounds:
                _put(found, contender, medians(rounds))
                _put(found["spread"], contender, merged(rounds, spread))
        bounds = {name: at(found, ("ours", name, "bandwidth_bound_tps")) for name in branch(found, ("ours",))}
        speculation = branch(found, ("speculation",))
        return {**found, "bandwidth_bound_tps": bounds, "greedy_identical": speculation.get("greedy_identical")}


def _put(tree: object, contender: Contender, value: Tree) -> None:
    """One speculation is measured, so it stands at the top of its group."""
    assert isinstance(tree, dict)
    if contender.group == "speculation":
        tree["speculation"] = value
    else:
        tree.setdefault(contender.group, {})[contender.name] = value


def lineup(args: argparse.Namespace, places: Places, pythons: Mapping[str, str]) -> Iterator[Contender]:
    """Ours and the peers next to each other; the torch path last, since it takes longest."""
    own = list(ours(places, args.precisions))
    yield from (contender for contender in own if contender.group == "ours")
    yield from peers(places, pythons)
    if args.speculate != "off":
        yield speculating(places, args.speculate, args.max_draft)
    if not args.quick:
        yield from (contender for contender in own if contender.group != "ours")


def _peer(text: str) -> tuple[str, str]:
    name, _, python = text.partition("=")
    if name not in SCRIPTS or not python:
        raise argparse.ArgumentTypeError(f"{text!r}: say NAME=PYTHON, NAME one of {', '.join(SCRIPTS)}")
    return name, python


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    precisions = ("float32", "bfloat16", "int8", "int4")
    parser.add_argument("--model", type=Path, required=True, help="a Hugging Face directory or a GGUF file")
    parser.add_argument("--precisions", nargs="*", choices=precisions, default=precisions)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one round, and the torch path left out")
    parser.add_argument("--peers", nargs="*", type=_peer, metavar="NAME=PYTHON")
    parser.add_argument(
        "--cache", type=Path, help="a directory for what peers make of the model (default: beside the run)"
    )
    parser.add_argument("--speculate", choices=("off", *precisions), default="int8")
    parser.add_argument("--max-draft", type=int, default=Run(weights="").max_draft)
    parser.add_argument("--patience", type=float, default=0.0, help="seconds that a round waits for quiet neighbours")
    parser.add_argument("--tries", type=int, default=1, help="tries for a round that had busy neighbours")
    parser.add_argument("--json", nargs="?", const=STDOUT, metavar="FILE", help="the results, to stdout or to a file")
    parser.add_argument("--ledger", action="store_true", help="add a row to LEDGER.md")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    rounds = 1 if args.quick else args.rounds
    results = measured(args, rounds)
    print(page(results), file=sys.stderr if args.json == STDOUT else sys.stdout)
    if args.json == STDOUT:
        print(json.dumps(results, indent=1))
    elif args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))
    if args.ledger:
        what = f"{args.model.stem}, {DECODE_PROMPT} + {DECODE_NEW} tokens, prefill {PREFILL_TOKENS}, {rounds} rounds"
        add_row("engine and peers", what, in_short(results))


def measured(args: argparse.Namespace, rounds: int) -> Tree:
    pythons = installed() if args.peers is None else dict(args.peers)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        places = Places(args.model, args.cache or Path(scratch), Path(scratch) / "workload.json")
        write_workload(places.workload, workload(open_weights(args.model).spec.vocab_size))
        lacking = prepare(places, pythons)
        race = Race(
            list(lineup(args, places, {kind: python for kind, python in pythons.items() if kind not in lacking})),
            args.patience,
            args.tries,
        )
        race.failed |= {f"peers {kind}": why for kind, why in lacking.items()}
        with suppress(KeyboardInterrupt):
            race.run(rounds)
    results = race.results()
    about = _about(args) | {"rounds": rounds, "minutes": round((time.monotonic() - began) / 60, 1)}
    return results | {"goals": verdicts(results), "about": about}


def _about(args: argparse.Namespace) -> Tree:
    return {"model": args.model.name, "machine": machine(), "commit": commit(),
            "max_draft": args.max_draft, "load_average": os.getloadavg()}  # fmt: skip


if __name__ == "__main__":
    main()
