"""`python -m classifiers.reading.taught.apart --data DIR`: what an addition looks like, from published prompts put together.

No seam of a published prompt, of a written one or of a light question before a task is one's; what is put behind a light
question is an addition, and so is what a published prompt tells where another one's question stands before it. The moulds of
`glued.jsonl` are for additions, light questions, tasks, and prompts whose sentences belong together. It needs scikit-learn.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers.heads.inputs import Floats
from classifiers.outcomes import pool
from classifiers.reading.apart import WEIGHTS, Side
from classifiers.reading.seams import Seams, seams
from classifiers.reading.taught.moulds import Moulds
from classifiers.reading.taught.parts import Published, parts_of, read_published
from classifiers.reading.taught.sense import TASK, read_examples

MOULDS = Path(__file__).parent / "glued.jsonl"
_GLUE = (" ", " ", " ", "\n", "\n\n")
_JOINS = ("", "", "", "Also, ", "Then ", "And ", "After that, ")
_PAIRS, _ADDITIONS, _TASKS, _WHOLE, _TWICE = 8_000, 6_000, 1_500, 4_000, 0.2
_LIGHT, _HARD = 0.9, 0.5  # anchors that a small model answers with more than this, and with less
_UNITS, _PENALTY, _SPREAD, _SHARE = 24, 0.05, 0.05, 0.25

_CARD = {
    "tells": "whether what stands behind a seam of a text, or before it, was put there; two networks of 24 units",
    "examples": "moulds in glued.jsonl, appeals.jsonl and anchors.jsonl, written for this project, filled from the sources",
    "mmlu, gsm8k": "lm-sys/RouteLLM@0b64fda, Apache-2.0, data MIT",
    "mmlu-pro": "TIGER-AI-Lab/MMLU-Pro@f418b11, Apache-2.0, data MIT",
    "mix": "ulab-uiuc/LLMRouter@4e7a796, MIT; tasks under CC BY, CC BY-SA, Apache-2.0 and MIT; GPQA left out",
    "mt-bench": "first turns as in lm-sys/RouteLLM@0b64fda, Apache-2.0",
    "not_for": "other languages than English; texts with options or of more than 600 characters, which stay whole",
}


class Glued(NamedTuple):
    """A text; where its addition begins, or ends if it stands first; 0 in a text whose parts belong together."""

    text: str
    at: int = 0
    first: bool = False


class Written(NamedTuple):
    """What was written for this, its slots filled."""

    additions: list[str]
    light: list[str]
    tasks: list[str]
    small_tasks: list[str]
    whole: list[str]


def train(data_dir: Path, out: Path = WEIGHTS) -> dict[str, str]:
    """Writes the weights; returns their card. Raises data.DataMissing."""
    from safetensors.numpy import save

    drawn = random.Random(7)
    published = read_published(drawn, data_dir)
    ours = written(drawn, published)
    texts = [*additions(drawn, published, ours), *wholes(drawn, published, ours)]
    told = [(one, found) for one in texts if (found := seams(one.text)) is not None]
    card = {**_CARD, "published": str(len(published.texts)), "texts": str(len(told))}
    parts: dict[str, NDArray[np.float32]] = {}
    for name, first in (("behind", False), ("before", True)):
        side, share = fit(*rows_of(told, first=first))
        parts |= {f"{name}.hidden": side.hidden.astype(np.float32), f"{name}.out": side.out.astype(np.float32)}
        card[f"additions_{name}"] = f"{share:.3f} of seams"
    out.write_bytes(save(parts, metadata=card))
    return card


def written(drawn: random.Random, published: Published) -> Written:
    """From moulds, examples of appeals and anchors."""
    examples, anchors = read_examples(), pool.read_anchors()
    appeals = [one.text for one in examples if one.kind != TASK]
    small_tasks = [one.text for one in examples if one.kind == TASK]
    moulds = Moulds(MOULDS, drawn, {**parts_of(drawn, published), "appeal": appeals, "task": small_tasks})
    sure = list(zip(anchors.texts, anchors.q_small.tolist(), strict=True))
    added = [
        f"{text} {moulds.filled(drawn.choice(('{appeal}', '{demand}')))}" if drawn.random() < _TWICE else text
        for text in moulds.distinct("addition", _ADDITIONS)
    ]
    return Written(
        [*added, *appeals],
        [*moulds.distinct("light", _TASKS), *(text for text, small in sure if small > _LIGHT)],
        [*moulds.distinct("asked", _TASKS), *(text for text, small in sure if small < _HARD)],
        small_tasks,
        moulds.distinct("whole", _WHOLE),
    )


def additions(drawn: random.Random, published: Published, ours: Written) -> Iterator[Glued]:
    """Put behind a light question, or before it."""
    longer = [text for text in ours.light if len(text.split()) > 2]
    for _ in range(_PAIRS):
        asks = drawn.choice(published.questions if drawn.random() < 0.4 else ours.light)
        asks = asks.rstrip("?.!") if drawn.random() < 0.25 else asks
        yield _behind(drawn, asks, drawn.choice(ours.additions))
        yield _before(drawn, drawn.choice(ours.additions), asks)
        at = drawn.randrange(len(published.told))
        tells = " ".join(published.told[at : at + drawn.choice((1, 1, 2, 3))])
        asks = drawn.choice(published.questions if drawn.random() < 0.4 else longer)
        yield _behind(drawn, asks, tells) if drawn.random() < 0.6 else _before(drawn, tells, asks)


def wholes(drawn: random.Random, published: Published, ours: Written) -> Iterator[Glued]:
    """No part of these is an addition."""
    tasks = [*(text for text in published.texts if len(text) < 250), *ours.tasks * 2]
    for text in [*published.texts, *ours.whole * 2, *ours.tasks]:
        yield Glued(text)
    for _ in range(_PAIRS):
        asks = drawn.choice(published.questions if drawn.random() < 0.4 else ours.light)
        join, task = drawn.choice(_JOINS), drawn.choice(tasks)
        yield Glued(f"{asks}{drawn.choice(_GLUE)}{join}{task[0].lower() + task[1:] if join else task}")
        yield Glued(f"{drawn.choice(tasks)}{drawn.choice(_GLUE)}{asks}")
        if drawn.random() < 0.3:
            yield Glued(f"{asks}{drawn.choice(_GLUE)}{drawn.choice(ours.small_tasks)}")


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
        (_UNITS,), activation="tanh", alpha=_PENALTY, learning_rate_init=2e-3, batch_size=256, max_iter=60, random_state=0,
        early_stopping=True, n_iter_no_change=6,
    )  # fmt: skip
    net.fit((rows[chosen] - mean) / spread, added[chosen])
    first = net.coefs_[0] / spread[:, None]
    hidden = np.vstack([first, net.intercepts_[0] - mean @ first])
    return Side(hidden, np.append(net.coefs_[1][:, 0], net.intercepts_[1])), float(added.mean())


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
