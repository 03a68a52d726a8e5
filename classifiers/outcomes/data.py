"""Outcomes per prompt: how well a small and a large model did. Reads the published tables; holds no policy of use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = Mapping[str, list[object]]

FILES = (
    "routellm_mmlu.parquet",
    "routellm_gsm8k.parquet",
    "routellm_mtbench.parquet",
    "mmlu_pro_28models.parquet",
    "llmrouter_mix_9models.parquet",
)


class DataMissing(Exception):
    """The data directory lacks files; the message lists them all."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Prompts with the quality, 0..1, that each of two models reached. All columns are aligned by position."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    groups: tuple[str, ...]
    q_small: Floats
    q_large: Floats

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> "Examples":
        """The examples at these positions, in this order."""
        at = np.asarray(rows, dtype=np.intp)
        texts, names = ([column[i] for i in at] for column in (self.texts, self.ids))
        groups = tuple(self.groups[i] for i in at)
        return Examples(tuple(names), tuple(texts), groups, self.q_small[at], self.q_large[at])


def join(parts: Sequence[Examples]) -> Examples:
    """The examples of all parts, one part after the other."""
    return Examples(
        tuple(name for part in parts for name in part.ids),
        tuple(text for part in parts for text in part.texts),
        tuple(group for part in parts for group in part.groups),
        np.concatenate([part.q_small for part in parts]),
        np.concatenate([part.q_large for part in parts]),
    )


def same_question(text: str) -> str:
    """What two spellings of one prompt have in common: letters and digits in lower case, without "Answer:" at the end.

    >>> same_question("What is 2+2?\\nAnswer:") == same_question("what is 2 + 2 ?")
    True
    """
    return "".join(filter(str.isalnum, text.lower())).removesuffix("answer")


def require(data_dir: Path) -> None:
    """Raises DataMissing unless all FILES stand in `data_dir`."""
    missing = [name for name in FILES if not (data_dir / name).is_file()]
    if missing:
        raise DataMissing(
            f"{data_dir} lacks {', '.join(missing)}; the outcome tables needed are {', '.join(FILES)} "
            "(classifiers/README.md says where they come from)"
        )


def mmlu(data_dir: Path) -> Examples:
    """RouteLLM's MMLU outcomes, Mixtral 8x7B against GPT-4 turbo, without the rows its authors call contaminated."""
    rows = _read(data_dir, "routellm_mmlu.parquet", "prompt_id", "prompt", "domain", *_ROUTELLM)
    return _routellm(rows, groups=[str(domain) for domain in rows["domain"]])


def gsm8k(data_dir: Path) -> Examples:
    """RouteLLM's GSM8K outcomes, same pair, without the rows its authors call contaminated."""
    rows = _read(data_dir, "routellm_gsm8k.parquet", "prompt_id", "prompt", *_ROUTELLM)
    return _routellm(rows, groups=["gsm8k"] * len(rows["prompt"]))


def mtbench(data_dir: Path) -> Examples:
    """RouteLLM's MT-Bench judgements of the same pair: first turns, quality = mean score of both turns / 10."""
    scores = [f"{size}_score_t{turn}" for size in ("small", "large") for turn in (1, 2)]
    rows = _read(
        data_dir, "routellm_mtbench.parquet", "question_id", "turn1", "category", "routellm_contaminated", *scores
    )
    small1, small2, large1, large2 = (_floats(rows[name]) / 10 for name in scores)
    whole = Examples(
        tuple(f"mt-{name}" for name in rows["question_id"]),
        tuple(map(str, rows["turn1"])),
        tuple(map(str, rows["category"])),
        (small1 + small2) / 2,
        (large1 + large2) / 2,
    )
    return whole.take(_clean(rows))


def mmlu_pro(data_dir: Path, small: Sequence[str], large: Sequence[str], *, with_mmlu: bool) -> Examples:
    """MMLU-Pro: quality = mean correctness over each group of models; `with_mmlu` keeps the questions shared with MMLU."""
    rows = _read(
        data_dir, "mmlu_pro_28models.parquet", "prompt_id", "prompt", "category", "src",
        *(f"ok:{model}" for model in (*small, *large)),
    )  # fmt: skip
    whole = _pooled(rows, "ok:", small, large, rows["category"])
    keep = [i for i, src in enumerate(rows["src"]) if with_mmlu or not str(src).startswith("ori_mmlu")]
    return whole.take(keep)


def mix(data_dir: Path, small: Sequence[str], large: Sequence[str], *, with_gpqa: bool = False) -> Examples:
    """LLMRouter's mix of 14 tasks: quality = mean score over each group. GPQA is left out as its authors ask."""
    rows = _read(
        data_dir, "llmrouter_mix_9models.parquet", "prompt_id", "prompt", "task",
        *(f"score:{model}" for model in (*small, *large)),
    )  # fmt: skip
    whole = _pooled(rows, "score:", small, large, rows["task"])
    return whole.take([i for i, task in enumerate(rows["task"]) if with_gpqa or task != "gpqa"])


_ROUTELLM = ("small_correct", "large_correct", "routellm_contaminated")


def _read(data_dir: Path, name: str, *columns: str) -> Columns:
    import pyarrow.parquet

    if not (data_dir / name).is_file():
        raise DataMissing(f"{data_dir} lacks {name}")
    table = pyarrow.parquet.read_table(data_dir / name, columns=list(columns))
    return {column: table.column(column).to_pylist() for column in columns}


def _floats(values: Sequence[object]) -> Floats:
    """Outcomes as floats; a missing one counts as a failure, as the publishers count it."""
    return np.array([0.0 if value is None else value for value in values], dtype=np.float64)


def _clean(rows: Columns) -> list[int]:
    return [i for i, contaminated in enumerate(rows["routellm_contaminated"]) if not contaminated]


def _routellm(rows: Columns, groups: Sequence[str]) -> Examples:
    whole = Examples(
        tuple(map(str, rows["prompt_id"])),
        tuple(map(str, rows["prompt"])),
        tuple(groups),
        _floats(rows["small_correct"]),
        _floats(rows["large_correct"]),
    )
    return whole.take(_clean(rows))


def _pooled(
    rows: Columns, prefix: str, small: Sequence[str], large: Sequence[str], groups: Sequence[object]
) -> Examples:
    means: Callable[[Sequence[str]], Floats] = lambda models: np.mean(  # noqa: E731
        [_floats(rows[prefix + model]) for model in models], axis=0
    )
    return Examples(
        tuple(map(str, rows["prompt_id"])), tuple(map(str, rows["prompt"])), tuple(map(str, groups)),
        means(small), means(large),
    )  # fmt: skip
