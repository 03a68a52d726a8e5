"""`python -m classifiers.apart_train --data DIR`: what an addition looks like, from published prompts put together.

No seam of a published prompt, of a written one or of a light question before a task is one's; what is put behind a light
question is an addition, and so is what a published prompt tells where another one's question stands before it. The examples are
`glued.jsonl`: additions, light questions, tasks, and prompts whose sentences belong together. It needs scikit-learn.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers import data, pool
from classifiers.apart import WEIGHTS, Side
from classifiers.heads.inputs import Floats
from classifiers.seams import Seams, seams
from classifiers.sense_train import TASK, Example, read_examples

EXAMPLES = Path(__file__).parent / "glued.jsonl"
_GLUE = (" ", " ", " ", "\n", "\n\n")
_JOINS = ("", "", "", "Also, ", "Then ", "And ", "After that, ")
_PAIRS, _PUBLISHED, _MOST_CHARS, _QUESTION_CHARS = 8_000, 12_000, 1_024, 160
_UNITS, _PENALTY, _SPREAD, _SHARE = 24, 0.05, 0.05, 0.25


class Glued(NamedTuple):
    """A text; where its addition begins, or ends if it stands first; 0 in a text whose parts belong together."""

    text: str
    at: int = 0
    first: bool = False


def train(data_dir: Path, out: Path = WEIGHTS) -> dict[str, str]:
    """Writes the weights; returns their card. Raises data.DataMissing."""
    from safetensors.numpy import save

    drawn = random.Random(7)
    published = published_texts(drawn, data_dir)
    texts = [*additions(drawn, published), *wholes(drawn, published)]
    told = [(one, found) for one in texts if (found := seams(one.text)) is not None]
    card = {"examples": EXAMPLES.name, "published": str(len(published)), "texts": str(len(told))}
    parts: dict[str, NDArray[np.float32]] = {}
    for name, first in (("behind", False), ("before", True)):
        side, share = fit(*rows_of(told, first=first))
        parts |= {f"{name}.hidden": side.hidden.astype(np.float32), f"{name}.out": side.out.astype(np.float32)}
        card[f"additions_{name}"] = f"{share:.3f} of seams"
    out.write_bytes(save(parts, metadata=card))
    return card


def published_texts(drawn: random.Random, data_dir: Path) -> list[str]:
    """Prompts of every source, and what MMLU's ask without their options."""
    data.require(data_dir)
    mmlu, gsm8k = data.mmlu(data_dir).texts, data.gsm8k(data_dir).texts
    mix = data.mix(data_dir, pool.MIX_SMALL, pool.MIX_LARGE).texts
    pro = data.mmlu_pro(data_dir, pool.PRO_SMALL, pool.PRO_LARGE, with_mmlu=False).texts
    asked = [text.split("\nA.")[0].strip() for text in drawn.sample([*mmlu, *pro], _PUBLISHED // 2)]
    texts = [*asked, *gsm8k, *mix, *drawn.sample(mmlu, 1000), *data.mtbench(data_dir).texts]
    return [text for text in texts if len(text) <= _MOST_CHARS]


def additions(drawn: random.Random, published: Sequence[str]) -> Iterator[Glued]:
    """Put behind a light question, or before it."""
    examples = _by_kind()
    added = [*examples["glued"], *(one.text for one in read_examples() if one.kind != TASK)]
    questions = [text for text in published if text.endswith("?") and len(text) <= _QUESTION_CHARS]
    told = [
        part for text in published for part in text.split(". ")[:-1] if 4 < len(part.split()) < 30 and "?" not in part
    ]
    light = [text for text in examples["light"] if len(text.split()) > 2]
    for _ in range(_PAIRS):
        asks = drawn.choice(questions if drawn.random() < 0.4 else examples["light"])
        asks = asks.rstrip("?.!") if drawn.random() < 0.25 else asks
        yield _behind(drawn, asks, drawn.choice(added))
        yield _before(drawn, drawn.choice(added), asks)
        at = drawn.randrange(len(told))
        tells = ". ".join(told[at : at + drawn.choice((1, 1, 2, 3))]) + "."
        asks = drawn.choice(questions if drawn.random() < 0.4 else light)
        yield _behind(drawn, asks, tells) if drawn.random() < 0.6 else _before(drawn, tells, asks)


def wholes(drawn: random.Random, published: Sequence[str]) -> Iterator[Glued]:
    """No part of these is an addition."""
    examples = _by_kind()
    tasks = [*examples["asked"], *(text for text in published if len(text) < 250), *examples["asked"] * 4]
    small = [one.text for one in read_examples() if one.kind == TASK]
    questions = [text for text in published if text.endswith("?") and len(text) <= _QUESTION_CHARS]
    for text in [*published, *examples["whole"] * 3, *examples["asked"] * 2]:
        yield Glued(text)
    for _ in range(_PAIRS):
        asks = drawn.choice(questions if drawn.random() < 0.4 else examples["light"])
        join, task = drawn.choice(_JOINS), drawn.choice(tasks)
        yield Glued(f"{asks}{drawn.choice(_GLUE)}{join}{task[0].lower() + task[1:] if join else task}")
        yield Glued(f"{drawn.choice(tasks)}{drawn.choice(_GLUE)}{asks}")
        if drawn.random() < 0.3:
            yield Glued(f"{asks}{drawn.choice(_GLUE)}{drawn.choice(small)}")


def rows_of(told: Sequence[tuple[Glued, Seams]], *, first: bool) -> tuple[Floats, Floats]:
    """Of the seams of one side what is told of them, [n, features], and whether an addition ends (`first`) or begins there.

    Of a text with an addition this seam alone, for where else one may begin in it is not known.
    """
    rows, added = [], []
    for one, found in told:
        side = found.before if first else found.behind
        if not one.at:
            rows.append(side)
            added += [0.0] * len(side)
        elif one.at in found.at:
            rows.append(side[[found.at.index(one.at)]])
            added.append(float(one.first == first))
    return np.vstack(rows), np.array(added)


def fit(rows: Floats, added: Floats) -> tuple[Side, float]:
    """Where additions are rarer than a quarter of all seams each counts several times. Beside it, how rare they were."""
    from sklearn.neural_network import MLPClassifier

    again = max(1, round(_SHARE * (1 - added.mean()) / ((1 - _SHARE) * added.mean())))
    chosen = np.concatenate([np.arange(len(added)), *[np.nonzero(added)[0]] * (again - 1)])
    mean, spread = rows.mean(0), rows.std(0) + _SPREAD
    net = MLPClassifier(
        (_UNITS,), activation="tanh", alpha=_PENALTY, learning_rate_init=2e-3, batch_size=256, max_iter=40, random_state=0,
        early_stopping=True, n_iter_no_change=6,
    )  # fmt: skip
    net.fit((rows[chosen] - mean) / spread, added[chosen])
    first = net.coefs_[0] / spread[:, None]
    hidden = np.vstack([first, net.intercepts_[0] - mean @ first])
    return Side(hidden, np.append(net.coefs_[1][:, 0], net.intercepts_[1])), float(added.mean())


def _by_kind() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in EXAMPLES.read_bytes().splitlines():
        one = msgspec.json.decode(line, type=Example)
        found.setdefault(one.kind, []).append(one.text)
    return found


def _behind(drawn: random.Random, asks: str, added: str) -> Glued:
    text = f"{asks}{drawn.choice(_GLUE)}"
    return Glued(text + added, len(text))


def _before(drawn: random.Random, added: str, asks: str) -> Glued:
    text = f"{added.rstrip('.')}{drawn.choice(('.', ':', '.', ' -', ''))}{drawn.choice(_GLUE)}"
    return Glued(text + asks, len(text), first=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="learn where something was added to a text")
    parser.add_argument("--data", type=Path, required=True, help="folder of the published tables")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    asked = parser.parse_args()
    print(msgspec.json.encode(train(asked.data, asked.out)).decode())


if __name__ == "__main__":
    main()
