"""The published splits as CSV files, one folder a fold: what `turnout train` and `turnout score` read, and the truth apart."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from classifiers.outcomes import data
from classifiers.outcomes.data import Examples
from classifiers.outcomes.splits import Fold, cv5, few

LARGE = "llama-3.1-nemotron-51b-instruct"
MISTRAL, QWEN = "mistral-7b-instruct-v0.3", "qwen2.5-7b-instruct"


@dataclass(frozen=True, slots=True)
class Protocol:
    """`gate` and `target` are of the APGR over all folds; `worst`, where given, of the worst fold. 0 where there is none."""

    folds: Callable[[Path], tuple[Fold, ...]]
    gate: float
    target: float
    worst: float = 0.0


def _mix(small: str, folder: Path) -> Examples:
    return data.mix(folder, [small], [LARGE], with_gpqa=True)


def _pro(small: str, large: str, folder: Path) -> Examples:
    return data.mmlu_pro(folder, [small], [large], with_mmlu=True)


def leave_one_group_out(examples: Examples) -> tuple[Fold, ...]:
    """A fold per group, in the order of their names: learned from all the others, measured on this one."""
    groups = np.array(examples.groups)
    return tuple(
        Fold(examples.take(np.nonzero(groups != name)[0]), examples.take(np.nonzero(groups == name)[0]))
        for name in sorted(set(examples.groups))
    )


def _other_pair(folder: Path) -> tuple[Fold, ...]:
    """From another pair's labels on other questions of the same kind."""
    test, mix = data.gsm8k(folder), _mix(MISTRAL, folder)
    asked = {" ".join(text.split()) for text in test.texts}
    keep = [
        at
        for at, (group, text) in enumerate(zip(mix.groups, mix.texts, strict=True))
        if group == "gsm8k" and " ".join(text.split()) not in asked
    ]
    return (Fold(mix.take(keep), test),)


def _as_shipped(folder: Path) -> tuple[Fold, ...]:
    test = data.mtbench(folder)
    return (Fold(test.take([]), test),)


PROTOCOLS: Mapping[str, Protocol] = {
    "mmlu-few250": Protocol(lambda folder: few(data.mmlu(folder), 250), 0.58, 0.61, 0.53),
    "mmlu-few1000": Protocol(lambda folder: few(data.mmlu(folder), 1000), 0.0, 0.0),
    "mmlu-few1531": Protocol(lambda folder: few(data.mmlu(folder), 1531), 0.64, 0.67),
    "mmlu-few4000": Protocol(lambda folder: few(data.mmlu(folder), 4000), 0.0, 0.0),
    "mmlu-cv5": Protocol(lambda folder: cv5(data.mmlu(folder)), 0.68, 0.71),
    "gsm8k-few250": Protocol(lambda folder: few(data.gsm8k(folder), 250), 0.60, 0.635, 0.58),
    "gsm8k-cv5": Protocol(lambda folder: cv5(data.gsm8k(folder)), 0.63, 0.66),
    "gsm8k-xfer": Protocol(_other_pair, 0.60, 0.63),
    "mmlupro-8b70b-cv5": Protocol(
        lambda folder: cv5(_pro("Meta-Llama-3_1-8B-Instruct", "Meta-Llama-3_1-70B-Instruct", folder)), 0.54, 0.56
    ),
    "mmlupro-mixtral-gemini-cv5": Protocol(
        lambda folder: cv5(_pro("Mixtral-8x7B-Instruct-v0.1", "gemini-1.5-pro-002", folder)), 0.60, 0.615
    ),
    "llmr-qwen-cv5": Protocol(lambda folder: cv5(_mix(QWEN, folder)), 0.81, 0.85),
    "llmr-mistral-cv5": Protocol(lambda folder: cv5(_mix(MISTRAL, folder)), 0.71, 0.73),
    "llmr-loto": Protocol(lambda folder: leave_one_group_out(_mix(MISTRAL, folder)), 0.52, 0.56),
    "mtbench-zero": Protocol(_as_shipped, 0.0, 0.70),
}
"""By the names that the goals have. `mtbench-zero` trains on nothing, which is the shipped artefact."""


def write_folds(folds: Sequence[Fold], out: Path) -> None:
    """`out`/<fold>/train.csv with outcomes, test.csv without them."""
    for at, fold in enumerate(folds):
        folder = out / str(at)
        folder.mkdir(parents=True, exist_ok=True)
        pairs = zip(fold.train.q_small, fold.train.q_large, strict=True)
        rows = [(*row, *pair) for row, pair in zip(_prompts(fold.train), pairs, strict=True)]
        _write(folder / "train.csv", ("prompt_id", "prompt", "small_correct", "large_correct"), rows)
        _write(folder / "test.csv", ("prompt_id", "prompt"), _prompts(fold.test))


def _prompts(examples: Examples) -> list[tuple[str, str]]:
    return list(zip(examples.ids, examples.texts, strict=True))


def _write(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
