"""`python -m classifiers.reading.taught.sense --data DIR`: what an appeal means, from examples and published prompts."""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from classifiers.embedding.static import open_static
from classifiers.features.text import digest
from classifiers.heads.inputs import Floats
from classifiers.outcomes import data, pool
from classifiers.reading.sense import WEIGHTS, Weights, columns

EXAMPLES = Path(__file__).parent / "appeals.jsonl"
TASK = "task"
MISS, MISS_OF_TASKS = 0.02, 0.05
"""Part of the published prompts' own first and last sentences that may be taken for appeals; and of the tasks among the
examples, which were written to be mistaken for one."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_OPTION = re.compile(r"^\W*[A-Ja-j][.)]|^Answer")
_PROMPTS, _PENALTY = 1500, 1.0


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence; `kind` is a family of appeals, or `task`."""

    kind: str
    text: str


def train(data_dir: Path, out: Path = WEIGHTS) -> Weights:
    """Writes the weights. Raises data.DataMissing."""
    examples = read_examples()
    appeals = [one.text for one in examples if one.kind != TASK]
    tasks = [one.text for one in examples if one.kind == TASK] + list(ends_of(pool.read_anchors().texts))
    published = published_ends(data_dir)
    taught, kept = published[::2], published[1::2]
    static = open_static()
    rows = columns(static, [*appeals, *tasks, *taught])
    weights = fit(rows, len(appeals), (len(appeals), len(tasks), len(taught)))
    published_cut = np.quantile(columns(static, kept) @ weights, 1 - MISS)
    cut = float(max(published_cut, np.quantile(rows[len(appeals) :][: len(tasks)] @ weights, 1 - MISS_OF_TASKS)))
    bounds = f"at most {MISS:.0%} of {len(kept)} other sentences of published prompts lie above, {MISS_OF_TASKS:.0%} of tasks"
    card: dict[str, object] = {
        "examples": "appeals.jsonl, written for this project", "appeals": len(appeals), "tasks": len(tasks),
        "published": len(taught), "cut": bounds,
    }  # fmt: skip
    found = Weights(tuple(round(value, 5) for value in weights.tolist()), round(cut, 4), card)
    out.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    return found


def read_examples() -> list[Example]:
    return [msgspec.json.decode(line, type=Example) for line in EXAMPLES.read_bytes().splitlines()]


def published_ends(data_dir: Path) -> list[str]:
    """First and last sentences of prompts, each once, in an order without meaning."""
    data.require(data_dir)
    sources = (data.mmlu(data_dir), data.gsm8k(data_dir), data.mix(data_dir, pool.MIX_SMALL, pool.MIX_LARGE))
    texts = [text for source in sources for text in sorted(source.texts, key=digest)[:_PROMPTS]]
    return sorted(dict.fromkeys(ends_of(texts)), key=digest)


def ends_of(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        sentences = [part for part in _SENTENCES.split(text) if len(part.split()) > 2 and not _OPTION.match(part)]
        yield from dict.fromkeys([*sentences[:1], *sentences[-1:]])


def fit(rows: Floats, appeals: int, groups: tuple[int, int, int]) -> Floats:
    """Logistic regression by Newton's method; appeals weigh as much as what is none, and each group of that alike."""
    is_appeal = np.arange(len(rows)) < appeals
    share = np.concatenate(
        [np.full(size, part / max(1, size)) for size, part in zip(groups, (500, 350, 150), strict=True)]
    )
    weights, pull = np.zeros(rows.shape[1]), np.eye(rows.shape[1]) * _PENALTY
    pull[-1, -1] = 1e-6
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (share * (chance - is_appeal)) + pull @ weights
        weights = weights - np.linalg.solve((rows.T * (share * chance * (1 - chance))) @ rows + pull, slope)
    return np.asarray(weights, np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description="learn what an appeal means")
    parser.add_argument("--data", type=Path, required=True, help="folder of the published tables")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    asked = parser.parse_args()
    print(msgspec.json.encode(train(asked.data, asked.out).card).decode())


if __name__ == "__main__":
    main()
