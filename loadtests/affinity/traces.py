"""Requests with the blocks of their prompts: read from recorded traces, or made where a trace has no prefixes."""

import csv
import gzip
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

BLOCK_TOKENS = 512
"""Tokens of a block in Mooncake's traces."""


class Arrival(NamedTuple):
    """One request. `blocks` name whole prefixes: equal ids mean equal prompts up to and including that block."""

    at_s: float
    blocks: tuple[int, ...]
    prompt_tokens: int
    output_tokens: int


Trace = Sequence[Arrival]


def read(path: Path) -> Trace:
    """Mooncake's JSON lines, or Azure's table, whose prompts share nothing. Raises OSError, ValueError."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        found = _mooncake(lines) if ".jsonl" in path.name else _azure(lines)
        return sorted(found, key=lambda arrival: arrival.at_s)


def _mooncake(lines: Iterable[str]) -> list[Arrival]:
    rows = (json.loads(line) for line in lines)
    return [
        Arrival(row["timestamp"] / 1000, tuple(row["hash_ids"]), row["input_length"], row["output_length"])
        for row in rows
    ]


def _azure(lines: Iterable[str]) -> list[Arrival]:
    rows = [
        (datetime.fromisoformat(row["TIMESTAMP"][:26]), int(row["ContextTokens"]), int(row["GeneratedTokens"]))
        for row in csv.DictReader(lines)
    ]
    began = min(at for at, _, _ in rows)
    fresh = _fresh_blocks()
    return [Arrival((at - began).total_seconds(), _take(fresh, tokens), tokens, out) for at, tokens, out in rows]


def without_sharing(trace: Trace) -> Trace:
    """The same times and lengths, and no two prompts begin alike."""
    fresh = _fresh_blocks()
    return [arrival._replace(blocks=_take(fresh, arrival.prompt_tokens)) for arrival in trace]


def with_hot_prefix(trace: Trace, tokens: int, share: float, seed: int) -> Trace:
    """Nothing shared, but `share` of the prompts begin with the same `tokens` (a long system prompt, many examples)."""
    draw = random.Random(seed)
    hot = tuple(-1 - i for i in range(tokens // BLOCK_TOKENS))
    return [_led(arrival, hot) if draw.random() < share else arrival for arrival in without_sharing(trace)]


def _led(arrival: Arrival, hot: tuple[int, ...]) -> Arrival:
    length = arrival.prompt_tokens + len(hot) * BLOCK_TOKENS
    return arrival._replace(blocks=hot + arrival.blocks, prompt_tokens=length)


def _fresh_blocks() -> Iterator[int]:
    return iter(range(1, 1 << 40))


def _take(fresh: Iterator[int], tokens: int) -> tuple[int, ...]:
    return tuple(next(fresh) for _ in range(-(-tokens // BLOCK_TOKENS)))


def stretched(trace: Trace, factor: float) -> Trace:
    """All gaps between arrivals times `factor`."""
    return [arrival._replace(at_s=arrival.at_s * factor) for arrival in trace]
