"""What the shipped artefact learns from: which outcomes, of which models, with which weight, and who is held out."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers.outcomes import data
from classifiers.outcomes.data import Examples, same_question

ANCHORS = Path(__file__).parent / "anchors.jsonl"
ANCHOR_WEIGHT = 12.0
"""One anchor counts as this many prompts: together they are then about an eighth of the pool."""

PRO_SMALL = (
    "Meta-Llama-3_1-8B-Instruct", "Phi-3-mini-4k-instruct", "Mistral-7B-Instruct-v0.2", "Qwen1.5-7B-Chat",
    "mathstral-7B", "gemma-7b",
)  # fmt: skip
PRO_LARGE = (
    "Meta-Llama-3_1-70B-Instruct", "gemini-1.5-flash-002", "gemini-1.5-pro-002", "jamba-1.5-large", "Qwen1.5-72B-Chat",
)  # fmt: skip
MIX_SMALL = ("llama-3.1-8b-instruct",)
MIX_LARGE = ("llama-3.1-nemotron-51b-instruct",)
"""Of the mix's nine models only these have no task on which the grader fails rather than the model."""

_MOST = 6000
_PRO_MAX_CHARS = 500
"""MMLU-Pro's longer prompts are cut in their options: the encoder would see half a question, and learn the format."""


class Anchor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A prompt with the chances that we assume for it."""

    kind: str
    text: str
    small: float
    large: float


@dataclass(frozen=True, slots=True)
class Pool:
    """Examples in an order without meaning, their weights, and which of them are held out."""

    examples: Examples
    weight: NDArray[np.float64]
    held_out: NDArray[np.bool_]
    counts: dict[str, int]


def read_pool(data_dir: Path) -> Pool:
    """All sources, each question once, at most 6000 prompts a source. Raises data.DataMissing."""
    data.require(data_dir)
    sources = {
        "anchors": read_anchors(),
        "gsm8k": data.gsm8k(data_dir),
        "mix": data.mix(data_dir, MIX_SMALL, MIX_LARGE),
        "mmlu": data.mmlu(data_dir),
        "mmlu-pro": _short(data.mmlu_pro(data_dir, PRO_SMALL, PRO_LARGE, with_mmlu=False)),
    }
    parts = [_labelled(name, _most(examples)) for name, examples in sources.items()]
    return _mixed(_distinct(data.join(parts)))


def read_anchors(path: Path = ANCHORS) -> Examples:
    """The assumed prompts as examples; group = their kind."""
    rows = [msgspec.json.decode(line, type=Anchor) for line in path.read_bytes().splitlines() if line.strip()]
    return Examples(
        tuple(f"anchor-{at}" for at in range(len(rows))),
        tuple(row.text for row in rows),
        tuple(row.kind for row in rows),
        np.array([row.small for row in rows]),
        np.array([row.large for row in rows]),
    )


def _most(examples: Examples) -> Examples:
    order = sorted(range(len(examples)), key=lambda at: _draw(examples.texts[at]))
    return examples.take(order[:_MOST])


def _short(examples: Examples) -> Examples:
    return examples.take([at for at, text in enumerate(examples.texts) if len(text) <= _PRO_MAX_CHARS])


def _labelled(source: str, examples: Examples) -> Examples:
    return Examples(examples.ids, examples.texts, (source,) * len(examples), examples.q_small, examples.q_large)


def _distinct(examples: Examples) -> Examples:
    """Each question once: the first of those that are the same but for case, spaces and punctuation."""
    first: dict[str, int] = {}
    for at, text in enumerate(examples.texts):
        first.setdefault(same_question(text) or text, at)
    return examples.take(sorted(first.values()))


def _mixed(examples: Examples) -> Pool:
    """Orders by digest, so that no order of the sources leaks into who is held out: about one in seven."""
    examples = examples.take(sorted(range(len(examples)), key=lambda at: _draw(examples.texts[at])))
    anchors = np.array([group == "anchors" for group in examples.groups])
    held_out = np.array([_draw("held:" + text) % 7 == 0 for text in examples.texts])
    counts = {name: examples.groups.count(name) for name in sorted(set(examples.groups))}
    return Pool(examples, np.where(anchors, ANCHOR_WEIGHT, 1.0), held_out, counts)


def _draw(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
