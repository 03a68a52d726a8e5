"""`python -m loadtests.cascade --data DIR`: routing quality when the small model's answer may be read.

GSM8K, Mixtral-8x7B to GPT-4 (RouteLLM's published answers): five folds, weights fitted on four, measured on the fifth.
"""

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet

from classifiers.metrics import apgr, apgr_interval, cpt, ece
from classifiers.weigh import Outcome, weigh
from loadtests.ledger import add_row
from policies.escalate.measures import MEASURES
from policies.escalate.plan import Escalation, Weights
from policies.escalate.prior import PRIOR
from policies.escalate.said import Said, Wanted
from policies.escalate.signals import signals_of
from policies.escalate.verdict import verdict

FOLDS = 5
RESAMPLES, SEED = 1_000, 7
FINAL = "####"
"""GSM8K's mark of a final answer; an answer without it was cut off."""

GATE = 0.71

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """One row a question. `fold` as in the published protocol."""

    outcomes: Sequence[Outcome]
    small: Floats
    large: Floats
    fold: NDArray[np.int64]


def gsm8k(folder: Path) -> Answers:
    rows = parquet.read_table(folder / "routellm_gsm8k.parquet").to_pylist()
    rows = [row for row in rows if not row["routellm_contaminated"]]
    return Answers(
        outcomes=[outcome(row) for row in rows],
        small=np.array([row["small_correct"] for row in rows], np.float64),
        large=np.array([row["large_correct"] for row in rows], np.float64),
        fold=np.array([draw(row["prompt_id"]) for row in rows]),
    )


def outcome(row: Mapping[str, Any]) -> Outcome:
    text = row["small_response"]
    said = Said(text=text, tokens=len(text) // 4, ending="stop" if FINAL in text else "length")
    return Outcome(signals_of(said, Wanted(question=row["prompt"])), bool(row["small_correct"]))


def draw(name: str) -> int:
    """Not a secret: the published protocol is defined by this hash."""
    return int(hashlib.sha1(f"cv5:{name}".encode(), usedforsecurity=False).hexdigest()[:8], 16) % FOLDS


def p_correct(weights: Weights, outcomes: Sequence[Outcome]) -> Floats:
    """As the gateway judges."""
    plan = Escalation(
        name="", to="", under=0.5, signals=frozenset(kind for kind, _ in MEASURES.values()), weights={"": weights}
    )
    return np.array([verdict(plan, "", known.signals).p_correct for known in outcomes])


def held_out(answers: Answers) -> Floats:
    """P(correct) of each answer by weights that never saw its fold."""
    found = np.zeros(len(answers.outcomes))
    for k in range(FOLDS):
        test = answers.fold == k
        weights = weigh([known for known, out in zip(answers.outcomes, test, strict=True) if not out])
        found[test] = p_correct(weights, [known for known, out in zip(answers.outcomes, test, strict=True) if out])
    return found


def measured(name: str, p: Floats, answers: Answers) -> dict[str, Any]:
    score, small, large = -p, answers.small, answers.large
    low, high = apgr_interval(score, small, large, RESAMPLES, SEED)
    return {
        "judge": name,
        "apgr": round(apgr(score, small, large), 3),
        "ci95": [round(low, 3), round(high, 3)],
        "cpt50": round(cpt(score, small, large, 0.5), 3),
        "cpt80": round(cpt(score, small, large, 0.8), 3),
        "ece": round(ece(p, small), 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="folder with routellm_gsm8k.parquet")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    asked = parser.parse_args()
    answers = gsm8k(asked.data)
    length = -np.array([known.signals.characters for known in answers.outcomes], np.float64)
    rows = [
        measured("fitted weights, held out", held_out(answers), answers),
        measured("declared prior", p_correct(PRIOR, answers.outcomes), answers),
        measured("length of the answer alone", 1 / (1 + np.exp(-length / 400)), answers),
        measured("perfect judge of the small answer", answers.small, answers),
    ]
    for row in rows:
        print(json.dumps(row) if asked.json else "  ".join(f"{key} {value}" for key, value in row.items()))
    if asked.ledger:
        add_row(
            "cascade, answer read", "GSM8K, Mixtral-8x7B to GPT-4, 1,307 questions, five folds", json.dumps(rows[:2])
        )
    return 0 if rows[0]["apgr"] >= GATE else 1


if __name__ == "__main__":
    raise SystemExit(main())
