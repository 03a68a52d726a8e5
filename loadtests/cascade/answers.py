"""Published answers as outcomes: what the small model said, whether it was right, whether the large one was."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet

from classifiers.training.weigh import Outcome
from policies.escalate.measures import measures_of
from policies.escalate.said import Said, Wanted
from policies.escalate.signals import signals_of
from policies.escalate.task import task_of

FOLDS = 5
FINAL = "####"
"""GSM8K's mark of a final answer; an answer without it was cut off."""

SMALL, LARGE = "Meta-Llama-3_1-8B-Instruct", "Meta-Llama-3_1-70B-Instruct"
SECONDS = ("Mixtral-8x7B-Instruct-v0.1", "Phi-3-mini-4k-instruct")
"""Models that may be asked beside the small one."""

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
    return answers([outcome(row) for row in rows], rows, "small_correct", "large_correct")


def outcome(row: Mapping[str, Any]) -> Outcome:
    text = row["small_response"]
    said = Said(text=text, tokens=len(text) // 4, ending="stop" if FINAL in text else "length")
    wanted = Wanted(question=row["prompt"])
    return Outcome(measures_of(signals_of(said, wanted)), bool(row["small_correct"]), task=task_of(wanted))


def mmlu_pro(folder: Path, second: str = "", small: str = SMALL) -> Answers:
    """Only the chosen letter of each answer is published, so the letter and its agreement with `second` are all there is."""
    rows = parquet.read_table(folder / "mmlu_pro_28models.parquet").to_pylist()
    chosen = {row["prompt_id"]: row for row in parquet.read_table(folder / "mmlu_pro_preds.parquet").to_pylist()}
    outcomes = [letters(row, chosen[row["prompt_id"]], second, small) for row in rows]
    return answers(outcomes, rows, f"ok:{small}", f"ok:{LARGE}")


def letters(row: Mapping[str, Any], chosen: Mapping[str, Any], second: str, small: str) -> Outcome:
    other = Said(text=chosen[f"pred:{second}"] or "", ending="stop") if second else None
    wanted = Wanted(question=row["prompt"])
    signals = signals_of(Said(text=chosen[f"pred:{small}"] or "", ending="stop"), wanted, other)
    return Outcome(measures_of(signals), bool(row[f"ok:{small}"]), task=task_of(wanted))


def answers(outcomes: Sequence[Outcome], rows: Sequence[Mapping[str, Any]], small: str, large: str) -> Answers:
    return Answers(
        outcomes=outcomes,
        small=np.array([row[small] or 0 for row in rows], np.float64),
        large=np.array([row[large] or 0 for row in rows], np.float64),
        fold=np.array([draw(row["prompt_id"]) for row in rows]),
    )


def draw(name: str) -> int:
    """Not a secret: the published protocol is defined by this hash."""
    return int(hashlib.sha1(f"cv5:{name}".encode(), usedforsecurity=False).hexdigest()[:8], 16) % FOLDS
