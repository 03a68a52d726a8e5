"""How a published prompt is worded: courtesy, case and slips of the keyboard, by the shipped artefact's quick stage.

The prompts lie outside the repository and are read where a folder `shared/data/routing` is beside the tree, or in it.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

from classifiers import artefact
from classifiers.embedding.static import open_static
from classifiers.features.text import name_of
from classifiers.glance import Glances
from classifiers.reading.appeals import without_appeals

_ROOT = Path(__file__).parents[3]
_FILES = {
    "gsm8k": "routellm_gsm8k.parquet",
    "mmlu": "routellm_mmlu.parquet",
    "alpaca": "nc/alpaca_eval_wins.parquet",
}
_SLIP_EVERY = 50

Reword = Callable[[str], str]


def prompts(name: str, many: int) -> list[str]:
    parquet = pytest.importorskip("pyarrow.parquet")
    folders = (top / "shared" / "data" / "routing" for top in (_ROOT, _ROOT.parent))
    found = next((folder for folder in folders if (folder / _FILES[name]).is_file()), None)
    if found is None:
        pytest.skip("the published prompts are not beside the tree")
    column = parquet.read_table(found / _FILES[name], columns=["prompt"])["prompt"].to_pylist()
    return Random(11).sample([text for text in column if text and text.strip()], many)


def with_slips(text: str) -> str:
    """Of fifty characters one: left out, twice, or changed with the next."""
    draw, chars = Random(len(text)), list(text)
    for _ in range(max(1, len(text) // _SLIP_EVERY)):
        at = draw.randrange(max(1, len(chars) - 1))
        if chars[at].isalpha():
            following = chars[at + 1 : at + 2]
            chars[at : at + 2] = draw.choice(([chars[at], chars[at], *following], following, [*following, chars[at]]))
    return "".join(chars)


COURTEOUS: tuple[Reword, ...] = (
    "Could you give me a hand with something? {}".format,
    "Good evening! I hope this finds you well.\n\n{}\n\nMany thanks for your time.".format,
    "Hello, dear assistant. Sorry to trouble you again. I have a quick question for you: {}".format,
    "{} Please and thanks!".format,
    "{}\nI would be very grateful for your help. Have a lovely day!".format,
)


@pytest.mark.parametrize(("name", "most"), [("gsm8k", 0.005), ("mmlu", 0.005), ("alpaca", 0.035)])
@pytest.mark.parametrize("polite", COURTEOUS)
def test_courtesy_around_a_published_prompt_leaves_what_is_read(name: str, most: float, polite: Reword):
    texts = prompts(name, 300)

    others = [text for text in texts if without_appeals(polite(text)).split() != without_appeals(text).split()]

    assert len(others) <= most * len(texts), others


@cache
def glances() -> tuple[Glances, float]:
    opened = artefact.load(artefact.SHIPPED)
    sample = opened.calibration.p_good
    return Glances(opened, open_static(), 4096), float(np.quantile(np.subtract(sample["large"], sample["small"]), 0.6))


def goes_large(text: str) -> bool:
    looks, line = glances()
    [likely] = looks.glance([name_of(text)], [text]).likely
    return likely["large"] - likely["small"] > line


@pytest.mark.parametrize(
    ("name", "reword", "most"),
    [
        ("gsm8k", str.lower, 0.01),
        ("mmlu", str.upper, 0.01),
        ("alpaca", str.lower, 0.035),
        ("gsm8k", with_slips, 0.05),
        ("mmlu", with_slips, 0.05),
        ("alpaca", with_slips, 0.06),
    ],
)
def test_case_and_slips_in_published_prompts_move_no_more_than_was_measured(name: str, reword: Reword, most: float):
    """The goal is one in twenty; slips in instructions miss it here, and by the encoder in all three sets: README.md."""
    texts = prompts(name, 150)

    moved = [text for text in texts if goes_large(text) is not goes_large(reword(text))]

    assert len(moved) <= most * len(texts), (len(moved) / len(texts), moved[:2])
