"""`python -m loadtests.protocols --data DIR --out DIR [NAME…]`: routing quality by the commands, protocol by protocol.

For each fold: `turnout train --data OUT/NAME/<fold>/train.csv --out OUT/NAME/<fold>/artefact`, then `turnout score`. A fold
whose artefact stands there is not trained again. APGR is over the pooled folds, scores as ranks within their fold, for folds
are trained apart; `apgr_raw` takes the scores as they are, `length` is the prompt's length in place of a score.
"""

import argparse
import csv
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classifiers.measuring.baselines import length
from classifiers.measuring.metrics import apgr, apgr_interval, cpt, ece, ranks
from classifiers.outcomes import data
from classifiers.outcomes.own import read_prompts
from classifiers.outcomes.splits import Fold
from loadtests.ledger import add_row
from loadtests.protocols.folds import PROTOCOLS, Protocol, write_folds

RESAMPLES, SEED = 200, 7
Floats = NDArray[np.float64]


def turnout(threads: int, *words: str) -> None:
    """Runs the command; its tables go nowhere, what went wrong is shown."""
    command = [sys.executable, "-m", "gateway.cli", *words, "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr[-2000:]}")


def scored(folder: Path, threads: int) -> tuple[Floats, Floats]:
    """Scores and P(small answers well) of a fold's test prompts, in the order of the file."""
    artefact, out = folder / "artefact", folder / "scores.csv"
    if not (artefact / "manifest.json").exists():
        turnout(threads, "train", "--data", str(folder / "train.csv"), "--out", str(artefact))
    turnout(threads, "score", "--artefact", str(artefact), "--data", str(folder / "test.csv"), "--out", str(out))
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["prompt_id"] for row in rows] == list(read_prompts(folder / "test.csv").ids)
    return tuple(np.array([float(row[name]) for row in rows]) for name in ("score", "p_good_small"))  # type: ignore[return-value]


def measured(folds: Sequence[Fold], scores: Sequence[Floats], p_small: Sequence[Floats]) -> dict[str, Any]:
    """APGR and its like over all folds."""
    test = data.join([fold.test for fold in folds])
    small, large = test.q_small, test.q_large
    pooled = by_rank(scores)
    low, high = apgr_interval(pooled, small, large, RESAMPLES, SEED)
    each = [
        apgr(one, fold.test.q_small, fold.test.q_large) for one, fold in zip(scores, folds, strict=True) if gaps(fold)
    ]
    found = {
        "apgr": apgr(pooled, small, large), "low": low, "high": high, "worst": min(each),
        "apgr_raw": apgr(np.concatenate(scores), small, large),
        "cpt50": cpt(pooled, small, large, 0.5), "cpt80": cpt(pooled, small, large, 0.8),
        "length": apgr(by_rank([length(fold.test.texts) for fold in folds]), small, large),
        "length_raw": apgr(length(test.texts), small, large),
        "ece_small": ece(np.concatenate(p_small), small),
    }  # fmt: skip
    return {name: round(value, 4) for name, value in found.items()}


def by_rank(scores: Sequence[Floats]) -> Floats:
    return np.concatenate([ranks(one) / len(one) for one in scores])


def gaps(fold: Fold) -> bool:
    """Whether the large model is better here, so that there is something to recover."""
    return bool(fold.test.q_large.mean() > fold.test.q_small.mean())


def run(name: str, protocol: Protocol, folder: Path, out: Path, threads: int) -> dict[str, Any]:
    folds = protocol.folds(folder)
    write_folds(folds, out / name)
    both = [scored(out / name / str(at), threads) for at in range(len(folds))]
    found = measured(folds, [one for one, _ in both], [p_small for _, p_small in both])
    return {"protocol": name, "gate": protocol.gate, "target": protocol.target, "folds": len(folds), **found}


def main(say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="folder with the published outcomes")
    parser.add_argument("--out", type=Path, required=True, help="folder for splits, artefacts and scores")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ledger", action="store_true")
    parser.add_argument("names", nargs="*", choices=[[], *PROTOCOLS], help="default: all")
    asked = parser.parse_args()
    missed = []
    for name in asked.names or PROTOCOLS:
        found = run(name, PROTOCOLS[name], asked.data, asked.out, asked.threads)
        say(json.dumps(found))
        if asked.ledger:
            add_row("routing quality by the commands", name, json.dumps(found))
        missed += [name] if found["apgr"] < found["gate"] or found["worst"] < PROTOCOLS[name].worst else []
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
