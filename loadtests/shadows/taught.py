"""What shadows teach a router where nobody says who is right: `python -m loadtests.shadows.taught --data DIR [--ledger]`.

MMLU-Pro, Llama 3.1 8B to 70B, whose choices are published. APGR on 3,000 questions, learned from 1,500 pairs: from outcomes
of both, from a judge that is right, from one that exchanges the two in a fifth of its verdicts, from whether the choices agree,
and from noise; means of three draws. And how often two wrong choices are the same one, over all pairs of models.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from classifiers.embedding.store import open_store
from classifiers.heads.inputs import Floats, Inputs, Targets, read_inputs
from classifiers.measuring.metrics import apgr
from classifiers.training.learn import learn
from gateway.settings import Settings
from loadtests.ledger import add_row
from policies.shadows.agreed import right_if_other, right_if_same

SMALL, LARGE = "Meta-Llama-3_1-8B-Instruct", "Meta-Llama-3_1-70B-Instruct"
PAIRS, QUESTIONS, DRAWS = 1_500, 3_000, 3
WRONG = 0.2
"""Of a judge's verdicts."""

Choices = NDArray[np.object_]


def read(folder: Path) -> tuple[list[str], Choices, Mapping[str, Choices]]:
    """Prompts, what is right, and each model's choices, None where it made none."""
    from pyarrow.parquet import read_table

    outcomes = read_table(folder / "mmlu_pro_28models.parquet", columns=["prompt_id", "prompt", "answer"]).to_pydict()
    told = read_table(folder / "mmlu_pro_preds.parquet").to_pydict()
    place = {name: at for at, name in enumerate(told["prompt_id"])}
    order = [place[name] for name in outcomes["prompt_id"]]
    chosen = {
        column.removeprefix("pred:"): np.array(values, dtype=object)[order]
        for column, values in told.items()
        if column.startswith("pred:")
    }
    return outcomes["prompt"], np.array(outcomes["answer"], dtype=object), chosen


def coincide(right: Choices, chosen: Mapping[str, Choices]) -> Floats:
    """By pair of models, the share of questions that both got wrong where they got them wrong alike."""
    found = []
    for one, other in combinations(chosen.values(), 2):
        wrong = np.array([a is not None and b is not None for a, b in zip(one, other, strict=True)])
        wrong &= (one != right) & (other != right)
        found.append((one[wrong] == other[wrong]).mean())
    return np.array(found)


def lessons(quality: Floats, same: NDArray[np.bool_], dice: np.random.Generator) -> Iterator[tuple[str, Floats]]:
    """The same pairs as each teacher marks them; `same`: both made one choice."""
    small, large = means = quality.mean(axis=0)
    judged = np.where((quality[:, 0] == quality[:, 1])[:, None], means.mean(), quality)
    exchanged = np.where((dice.random(len(quality)) < WRONG)[:, None], judged[:, ::-1], judged)
    agreed = np.where(
        same[:, None], right_if_same(small, large), [right_if_other(small, large), right_if_other(large, small)]
    )
    yield "outcomes of both", quality
    yield "a judge", judged
    yield "a judge that is wrong in 20 %", exchanged
    yield "agreement", agreed
    yield "noise", np.repeat(dice.random(len(quality))[:, None], 2, axis=1)


def routed(learns: Inputs, teaches: Floats, asks: Inputs, quality: Floats) -> float:
    chances = learn(learns, Targets(teaches, np.ones(len(teaches)))).blend.p_good(asks)
    return apgr(chances[:, 1] - chances[:, 0], quality[:, 0], quality[:, 1])


def drawn(folder: Path) -> tuple[dict[str, list[float]], Floats]:
    texts, right, chosen = read(folder)
    both = np.nonzero([None not in pair for pair in zip(chosen[SMALL], chosen[LARGE], strict=True)])[0]
    store, found = open_store(Settings().cache_dir, None, 1), dict[str, list[float]]()
    for draw in range(DRAWS):
        dice = np.random.default_rng(draw)
        rows = dice.permutation(both)[: PAIRS + QUESTIONS]
        inputs = read_inputs([texts[at] for at in rows], store.vectors([texts[at] for at in rows]))
        quality = np.stack([(chosen[model] == right)[rows] for model in (SMALL, LARGE)], axis=1).astype(np.float64)
        learns, asks = np.arange(PAIRS), np.arange(PAIRS, len(rows))
        same = (chosen[SMALL] == chosen[LARGE])[rows]
        for teacher, marks in lessons(quality[:PAIRS], same[:PAIRS], dice):
            apgr_of = routed(inputs.take(learns), marks, inputs.take(asks), quality[PAIRS:])
            found.setdefault(teacher, []).append(apgr_of)
    return found, coincide(right, chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of published tables")
    parser.add_argument("--ledger", action="store_true")
    told = parser.parse_args()
    found, alike = drawn(told.data)
    table = {teacher: [round(float(np.mean(each)), 3), *np.round(each, 3).tolist()] for teacher, each in found.items()}
    spread = [round(float(value), 3) for value in (alike.mean(), *np.quantile(alike, (0.1, 0.9)))]
    result = {"apgr": table, "wrong choices alike, mean and tenths": spread}
    print(json.dumps(result, indent=1))
    if told.ledger:
        add_row("what shadows teach", "MMLU-Pro, Llama 3.1 8B to 70B, 1,500 pairs, three draws", json.dumps(result))


if __name__ == "__main__":
    main()
