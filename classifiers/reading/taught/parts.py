"""Published prompts, and the parts of them that fill moulds: read where the tables lie, at the time of training."""

import random
import re
import string
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from classifiers.outcomes import data, pool
from classifiers.reading.taught.moulds import Parts

_STEMS, _WITH_OPTIONS, _FRAGMENTS, _CODES = 12_000, 1_000, 6_000, 200
_MOST_CHARS, _QUESTION_CHARS, _FUNCTION_CHARS = 1_024, 160, 150
_STOP = re.compile(r"(?<=[.!?])\s+")
_FORMULA = re.compile(r"\$[^$]{4,60}\$|\\\([^)]{4,60}\\\)")
_BASE64 = string.ascii_letters + string.digits + "+/"


class Published(NamedTuple):
    """Prompts; those that ask in few words; sentences that only tell, in their order; what programs are asked for by."""

    texts: list[str]
    questions: list[str]
    told: list[str]
    programs: list[str]


def read_published(drawn: random.Random, data_dir: Path) -> Published:
    """Prompts of every source, and what MMLU's ask without their options. Raises data.DataMissing."""
    data.require(data_dir)
    mmlu, gsm8k = data.mmlu(data_dir).texts, data.gsm8k(data_dir).texts
    mix = data.mix(data_dir, pool.MIX_SMALL, pool.MIX_LARGE)
    pro = data.mmlu_pro(data_dir, pool.PRO_SMALL, pool.PRO_LARGE, with_mmlu=False).texts
    asked = [text.split("\nA.")[0].strip() for text in drawn.sample([*mmlu, *pro], _STEMS // 2)]
    every = [*asked, *gsm8k, *mix.texts, *drawn.sample(mmlu, _WITH_OPTIONS), *data.mtbench(data_dir).texts]
    texts = [text for text in every if len(text) <= _MOST_CHARS]
    return Published(
        texts,
        [text for text in texts if text.endswith("?") and len(text) <= _QUESTION_CHARS],
        list(_told([*asked, *gsm8k])),
        [text for text, group in zip(mix.texts, mix.groups, strict=True) if group == "human_eval"],
    )


def parts_of(drawn: random.Random, published: Published) -> Parts:
    """By the slot that they fill; and numbers, years and codes."""
    short = [*published.questions, *published.told]
    lines = [line.strip() for text in published.programs for line in text.splitlines()]
    return {
        "published": short,
        "told": published.told,
        "fragment": [_fragment(drawn, drawn.choice(short)) for _ in range(_FRAGMENTS)],
        "formula": [formula for text in published.texts for formula in _FORMULA.findall(text)],
        "function": [text[:_FUNCTION_CHARS] for text in published.programs],
        "code": [line for line in lines if len(line) > 12],
        "letters": ["".join(drawn.choices(_BASE64, k=drawn.randint(16, 70))) for _ in range(_CODES)],
        "number": [str(number) for number in range(2, 91)],
        "digit": [str(digit) for digit in range(2, 10)],
        "year": [str(year) for year in range(1890, 2025)],
    }


def _told(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        sentences = _STOP.split(text)[:-1]
        yield from (one for one in sentences if 4 < len(one.split()) < 30 and one.endswith("."))


def _fragment(drawn: random.Random, text: str) -> str:
    """Two to nine words in sequence."""
    words, many = text.split(), drawn.randint(2, 9)
    at = drawn.randrange(max(1, len(words) - many))
    return " ".join(words[at : at + many]).strip(" .,;:?") or words[0]
