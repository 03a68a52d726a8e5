"""Steps written out by hand: which tokens, from which position, in which blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import LanguageModel, Step


@dataclass(frozen=True)
class Rows:
    """Tokens of one sequence from position `start`, in the blocks of `table`."""

    tokens: Sequence[int]
    start: int
    table: Sequence[int]


def step_of(*sequences: Rows) -> Step:
    """One ragged batch that wants every row's logits."""
    tables = np.zeros((len(sequences), max(len(rows.table) for rows in sequences)), np.int32)
    for index, rows in enumerate(sequences):
        tables[index, : len(rows.table)] = rows.table
    lengths = [len(rows.tokens) for rows in sequences]
    return Step(
        tokens=np.concatenate([np.array(rows.tokens, np.int32) for rows in sequences]),
        positions=np.concatenate([np.arange(r.start, r.start + len(r.tokens), dtype=np.int32) for r in sequences]),
        sequence=np.repeat(np.arange(len(sequences), dtype=np.int32), lengths),
        tables=tables,
        logit_rows=np.arange(sum(lengths), dtype=np.int32),
    )


def logits_of(
    model: LanguageModel, tokens: Sequence[int], table: Sequence[int], cuts: Sequence[int] = ()
) -> NDArray[np.float32]:
    """Every row's logits of one sequence, computed alone in chunks that end at `cuts`."""
    edges = [0, *sorted(set(cuts)), len(tokens)]
    parts = [model.forward(step_of(Rows(tokens[a:b], a, table))) for a, b in pairwise(edges) if b > a]
    return np.concatenate(parts)


def greedy(model: LanguageModel, prompt: Sequence[int], count: int, table: Sequence[int]) -> list[int]:
    """The prompt in one chunk, then `count` tokens one at a time."""
    tokens = list(prompt)
    logits = logits_of(model, tokens, table)
    for _ in range(count):
        tokens.append(int(logits[-1].argmax()))
        logits = model.forward(step_of(Rows(tokens[-1:], len(tokens) - 1, table)))
    return tokens[len(prompt) :]
