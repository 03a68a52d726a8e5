"""The deterministic splits that every evaluation uses: which rows a router may learn from, which it is measured on."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from classifiers.outcomes import data
from classifiers.outcomes.data import Examples


@dataclass(frozen=True, slots=True)
class Fold:
    """Train on `train`, measure on `test`; no row stands in both."""

    train: Examples
    test: Examples


def cv5(examples: Examples) -> tuple[Fold, ...]:
    """Five folds; a row's fold is sha1("cv5:" + its id) mod 5, so it never depends on order or on other rows."""
    fold = np.array([_draw("cv5:" + name) % 5 for name in examples.ids])
    return tuple(
        Fold(examples.take(np.nonzero(fold != k)[0]), examples.take(np.nonzero(fold == k)[0])) for k in range(5)
    )


def few(examples: Examples, labels: int, draws: int = 5) -> tuple[Fold, ...]:
    """`draws` folds; draw k learns from the `labels` rows of smallest sha1("few<labels>.<k>:" + id), tests on the rest."""
    folds = []
    for k in range(draws):
        order = np.argsort([_draw(f"few{labels}.{k}:{name}") for name in examples.ids])
        folds.append(Fold(examples.take(order[:labels]), examples.take(order[labels:])))
    return tuple(folds)


def _draw(text: str) -> int:
    # Not a secret: the published protocol is defined by this hash, and any router must be measured on the same rows.
    return int(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:8], 16)


def _mix_pair(small: str) -> Callable[[Path], Examples]:
    return lambda data_dir: data.mix(data_dir, [small], ["llama-3.1-nemotron-51b-instruct"])


def _pro_pair(small: str, large: str) -> Callable[[Path], Examples]:
    return lambda data_dir: data.mmlu_pro(data_dir, [small], [large], with_mmlu=True)


SPLITS: Mapping[str, Callable[[Path], tuple[Fold, ...]]] = {
    "mmlu-cv5": lambda data_dir: cv5(data.mmlu(data_dir)),
    "mmlu-few250": lambda data_dir: few(data.mmlu(data_dir), 250),
    "mmlu-few1000": lambda data_dir: few(data.mmlu(data_dir), 1000),
    "mmlu-few1531": lambda data_dir: few(data.mmlu(data_dir), 1531),
    "mmlu-few4000": lambda data_dir: few(data.mmlu(data_dir), 4000),
    "gsm8k-cv5": lambda data_dir: cv5(data.gsm8k(data_dir)),
    "gsm8k-few250": lambda data_dir: few(data.gsm8k(data_dir), 250),
    "mix-qwen-cv5": lambda data_dir: cv5(_mix_pair("qwen2.5-7b-instruct")(data_dir)),
    "mix-mistral-cv5": lambda data_dir: cv5(_mix_pair("mistral-7b-instruct-v0.3")(data_dir)),
    "mmlupro-8b70b-cv5": lambda data_dir: cv5(
        _pro_pair("Meta-Llama-3_1-8B-Instruct", "Meta-Llama-3_1-70B-Instruct")(data_dir)
    ),
}
