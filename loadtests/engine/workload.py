"""What everybody computes: prompts as token ids, drawn from one seed, and how many tokens follow.

No contender stops before its count, so the texts do not matter, only their lengths; two prompts never share a prefix.
"""

import json
import random
from pathlib import Path
from typing import NamedTuple

BATCHES = (1, 4, 8, 16)
DECODE_PROMPT, DECODE_NEW, PREFILL_TOKENS = 32, 128, 512
PREFILLS = 5
FIRST_WORD = 1000
"""Smaller ids are control tokens and single bytes in most vocabularies."""


class Workload(NamedTuple):
    """decode: 16 prompts of 32 tokens, of which batch n takes the first n. prefill: prompts of 512 tokens, one at a time."""

    decode: list[list[int]]
    prefill: list[list[int]]


def workload(vocab_size: int, seed: int = 0) -> Workload:
    draw = random.Random(seed)

    def prompts(count: int, length: int) -> list[list[int]]:
        return [[draw.randrange(FIRST_WORD, vocab_size) for _ in range(length)] for _ in range(count)]

    return Workload(prompts(max(BATCHES), DECODE_PROMPT), prompts(PREFILLS, PREFILL_TOKENS))


def write_workload(path: Path, load: Workload) -> None:
    """The file that peers read: {"decode": [[id, ...], ...], "prefill": [[id, ...], ...], "new": tokens to add}."""
    path.write_text(json.dumps({**load._asdict(), "new": DECODE_NEW, "batches": BATCHES}))
