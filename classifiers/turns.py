"""From the chances of single turns to those of a conversation: the newest turn weighs most, nothing weighs nothing."""

from collections.abc import Sequence
from functools import lru_cache
from math import exp, log

MAX_TURNS = 16
DECAY = 0.25
"""Each turn weighs a quarter of the one after it: of three turns the newest counts 76 %, the one before it 19 %."""

REMEMBERED = 4_096
"""Conversations, by the chances of their turns."""

Chances = tuple[float, ...]


def prefixes(turns: Sequence[Chances]) -> list[Chances]:
    """For each turn, the chances of the conversation up to it: the weighted mean of log-odds, rounded to 4 digits.

    Log-odds rather than chances, so that one certain turn isn't drowned by a few undecided ones. Chances lie strictly
    between 0 and 1.

    >>> prefixes([(0.9,), (0.9,)])
    [(0.9,), (0.9,)]
    >>> prefixes([(0.5,), (0.9,)])[1]
    (0.8529,)
    """
    return list(_prefixes(tuple(turns)))


@lru_cache(REMEMBERED)
def _prefixes(turns: tuple[Chances, ...]) -> tuple[Chances, ...]:
    sums, weight, result = [0.0] * len(turns[0]) if turns else [], 0.0, []
    for chances in turns:
        sums = [DECAY * total + log(p / (1 - p)) for total, p in zip(sums, chances, strict=True)]
        weight = DECAY * weight + 1.0
        result.append(tuple(round(1 / (1 + exp(-total / weight)), 4) for total in sums))
    return tuple(result)
