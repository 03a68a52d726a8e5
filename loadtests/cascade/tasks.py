"""Weights for each task, beside one set for all of a model's answers, and beside each task's own answers alone.

Mixtral-8x7B on GSM8K and on MMLU-Pro, with the choice of Phi-3-mini beside it; and 29 models on three sets at once
(ZeroEval: GSM8K, MATH of level 5, CRUX), of whose answers only length is published and whether there is one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet

from classifiers.heads.logistic import Floats
from classifiers.measuring.metrics import auc
from classifiers.training.weigh import Outcome, arrayed, fit
from classifiers.training.weigh_tasks import Words, loss, moved
from loadtests.cascade.answers import FOLDS, SECONDS, draw, gsm8k, mmlu_pro
from policies.escalate.measures import measures_of
from policies.escalate.said import Wanted
from policies.escalate.signals import Signals
from policies.escalate.task import task_of

MIXTRAL, PHI = SECONDS
SETS = 3

Fitted = Callable[[Floats, Floats, Words], tuple[Floats, Mapping[str, Floats]]]
"""Rows, right and tasks to the model's coefficients and the tasks'."""


def pooled(rows: Floats, right: Floats, tasks: Words) -> tuple[Floats, Mapping[str, Floats]]:
    return fit(rows, right), {}


def apart(rows: Floats, right: Floats, tasks: Words) -> tuple[Floats, Mapping[str, Floats]]:
    """Nothing that one task shows is used for another."""
    return fit(rows, right), {str(task): fit(rows[tasks == task], right[tasks == task]) for task in np.unique(tasks)}


def between(rows: Floats, right: Floats, tasks: Words) -> tuple[Floats, Mapping[str, Floats]]:
    """As `turnout weigh` does."""
    return fit(rows, right), moved(rows, right, tasks, fit)


WAYS: Mapping[str, Fitted] = {
    "of the model": pooled,
    "of each task alone": apart,
    "of each task, near the model's": between,
}


def on_tasks(folder: Path) -> Iterator[dict[str, Any]]:
    yield from two_tasks(folder)
    yield from many_models(folder)


def two_tasks(folder: Path) -> Iterator[dict[str, Any]]:
    words, letters = gsm8k(folder), mmlu_pro(folder, PHI, MIXTRAL)
    fold = np.concatenate([words.fold, letters.fold])
    found = compared([*words.outcomes, *letters.outcomes], fold)
    for (way, task), (nats, area) in found.items():
        yield {"judge": f"Mixtral-8x7B, weights {way}", "task": task, "log_loss": round(nats, 4), "auc": round(area, 4)}


def many_models(folder: Path) -> Iterator[dict[str, Any]]:
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for outcomes, fold in zeroeval(folder):
        for key, value in compared(outcomes, fold).items():
            found[key].append(value)
    for (way, task), values in found.items():
        worse = sum(
            value[0] > first[0] + 0.001 for value, first in zip(values, found["of the model", task], strict=True)
        )
        nats, area = np.mean(values, axis=0)
        yield {
            "judge": f"ZeroEval, {len(values)} models, weights {way}", "task": task, "log_loss": round(float(nats), 4),
            "auc": round(float(area), 4), "models_worse_than_pooled": int(worse),
        }  # fmt: skip


def compared(outcomes: Sequence[Outcome], fold: NDArray[np.int64]) -> dict[tuple[str, str], tuple[float, float]]:
    """Cross entropy in nats an answer and AUC, by way and by task ("all" for every answer), each fold by the other four."""
    known = arrayed(outcomes)
    found = {}
    for way, fitted in WAYS.items():
        odds = np.empty(len(known.right))
        for k in range(FOLDS):
            out = fold == k
            model, own = fitted(known.rows[~out], known.right[~out], known.tasks[~out])
            odds[out] = [
                row @ own.get(task, model) for row, task in zip(known.rows[out], known.tasks[out], strict=True)
            ]
        for task in ("all", *np.unique(known.tasks)):
            of = np.full(len(odds), True) if task == "all" else known.tasks == task
            found[way, str(task)] = float(loss(odds[of], known.right[of]).mean()), auc(odds[of], known.right[of] > 0)
    return found


def zeroeval(folder: Path) -> Iterator[tuple[Sequence[Outcome], NDArray[np.int64]]]:
    """Of each model that answered all of the sets."""
    asked = {row["prompt_id"]: row for row in parquet.read_table(folder / "zeroeval_prompts.parquet").to_pylist()}
    tasks = {name: task_of(Wanted(question=row["prompt"])) for name, row in asked.items()}
    by_model: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in parquet.read_table(folder / "zeroeval_outcomes.parquet").to_pylist():
        by_model[row["model"]].append(row)
    for _, rows in sorted(by_model.items()):
        if len({row["dataset"] for row in rows}) == SETS:
            outcomes = [outcome(row, len(asked[row["prompt_id"]]["prompt"]), tasks[row["prompt_id"]]) for row in rows]
            yield outcomes, np.array([draw(row["prompt_id"]) for row in rows])


def outcome(row: Mapping[str, Any], asked: int, task: Any) -> Outcome:
    characters = int(row["output_chars"] or 0)
    signals = Signals(
        whole=True, tokens=characters // 4, characters=characters, empty=bool(row["no_answer"]), asked_characters=asked
    )
    return Outcome(measures_of(signals), float(row["correct"]) >= 0.5, task=task)
