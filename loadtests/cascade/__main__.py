"""`python -m loadtests.cascade --data DIR`: routing quality when the small model's answer may be read.

GSM8K, Mixtral-8x7B to GPT-4 (RouteLLM's published answers), and MMLU-Pro, Llama 8B to 70B with a second model's choice;
then weights for each task, beside one set for all.
Five folds: weights fitted on four as `turnout weigh` fits them, measured on the fifth as the gateway judges.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from classifiers.measuring.metrics import apgr, apgr_interval, cpt, ece
from classifiers.training.weigh import Outcome, weigh
from loadtests.cascade.answers import FOLDS, LARGE, SECONDS, SMALL, Answers, Floats, gsm8k, mmlu_pro
from loadtests.cascade.tasks import on_tasks
from loadtests.ledger import add_row
from policies.escalate.measures import MEASURES
from policies.escalate.plan import Escalation, Weights
from policies.escalate.prior import PRIOR
from policies.escalate.verdict import verdict_on

RESAMPLES, SEED = 1_000, 7
GATES = {"gsm8k": 0.71, "mmlu-pro": 0.65}
"""APGR that the best row of each set must reach."""


def p_correct(weights: Weights, outcomes: Sequence[Outcome]) -> Floats:
    """As the gateway judges."""
    plan = Escalation(
        name="", to="", under=0.5, signals=frozenset(kind for kind, _ in MEASURES.values()), weights={"": weights}
    )
    return np.array([verdict_on(plan, "", known.measures, None, known.task).p_correct for known in outcomes])


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


def on_gsm8k(folder: Path) -> Iterator[dict[str, Any]]:
    known = gsm8k(folder)
    length = np.array([outcome.measures.get("length", 0.0) for outcome in known.outcomes])
    yield measured("fitted weights, held out", held_out(known), known)
    yield measured("declared prior", p_correct(PRIOR, known.outcomes), known)
    yield measured("length of the answer alone", 1 / (1 + np.exp(length)), known)
    yield measured("perfect judge of the small answer", known.small, known)


def on_mmlu_pro(folder: Path) -> Iterator[dict[str, Any]]:
    for second in SECONDS:
        known = mmlu_pro(folder, second)
        yield measured(f"second opinion of {second}", held_out(known), known)
    alone = mmlu_pro(folder)
    yield measured("no second opinion", held_out(alone), alone)
    yield measured("perfect judge of the small answer", alone.small, alone)


SETS = {"gsm8k": on_gsm8k, "mmlu-pro": on_mmlu_pro, "tasks": on_tasks}
WORKLOADS = {
    "gsm8k": "GSM8K, Mixtral-8x7B to GPT-4, 1,307 questions, five folds",
    "tasks": "Mixtral-8x7B on GSM8K and MMLU-Pro; 29 models on three sets (ZeroEval); five folds",
    "mmlu-pro": f"MMLU-Pro, {SMALL} to {LARGE}, 12,032 questions, five folds",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="folder with the published outcomes")
    parser.add_argument("--set", choices=[*SETS], action="append", help="one of them; again for more")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true")
    asked = parser.parse_args()
    missed = False
    for name in asked.set or SETS:
        rows = list(SETS[name](asked.data))
        for row in rows:
            print(json.dumps({"set": name, **row}) if asked.json else "  ".join(f"{k} {v}" for k, v in row.items()))
        if asked.ledger:
            add_row("cascade, answer read", WORKLOADS[name], json.dumps(rows[:2]))
        missed = missed or (name in GATES and rows[0]["apgr"] < GATES[name])
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
