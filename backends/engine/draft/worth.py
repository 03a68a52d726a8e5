"""How many draft tokens pay: as many as raise tokens per second of the whole batch, none when that is none.

Goodput, after TurboSpec (arXiv 2406.14066). The batch's own rows are in both sides, so drafts thin out under load and stop
by themselves.
"""

from collections.abc import Callable
from collections.abc import Sequence as Seq
from typing import NamedTuple

LEAST_SHARE = 0.01
"""Of a step, divided by its sequences: what a row is believed to cost at least. Noise must not make rows look free."""

LEAST_GAIN = 0.02
"""Expected gains below this are left alone: they are as likely an error of the estimates."""

Seconds = Callable[[int], float]
"""What a pass over so many rows costs."""


class Worth(NamedTuple):
    """Draft tokens for each sequence, and the tokens per second that are expected of them."""

    lengths: list[int]
    goodput: float


def worthwhile(chances: Seq[Seq[float]], step: Seconds, draft: Seconds = lambda _: 0.0) -> Worth:
    """The best lengths, given the falling chances of each sequence's drafts and what passes cost.

    `step(rows)` verifies rows, `draft(rows)` makes one more draft token for each of `rows` sequences.

    >>> worthwhile([[0.9, 0.8], [0.1]], step=lambda rows: 1 + 0.1 * rows).lengths
    [2, 0]
    """
    best = Worth([0] * len(chances), (1 + LEAST_GAIN) * len(chances) / step(len(chances)))
    for passes in _depths(chances, draft):
        found = _within(chances, passes, step, draft)
        if found.goodput > best.goodput:
            best = found
        elif passes > 1:
            break
    return best


def _depths(chances: Seq[Seq[float]], draft: Seconds) -> range:
    """Numbers of draft passes to compare. Free ones need no comparison: the deepest holds all others."""
    deepest = max(map(len, chances), default=0)
    return range(1 if draft(1) else max(1, deepest), deepest + 1)


def _within(chances: Seq[Seq[float]], passes: int, step: Seconds, draft: Seconds) -> Worth:
    """The best lengths up to `passes`: rows are added likeliest first, and the best number of them is kept."""
    rows = sorted(((chance, which) for which, row in enumerate(chances) for chance in row[:passes]), reverse=True)
    own = len(chances)
    expected, spent = float(own), step(own)
    least = LEAST_SHARE * spent / own
    kept, goodput = 0, 0.0
    for number, (chance, _) in enumerate(rows, 1):
        expected += chance
        spent = max(spent + least, step(own + number))
        found = expected / (spent + passes * draft(max(1, number // passes)))
        if found > goodput:
            kept, goodput = number, found
    lengths = [0] * own
    for _, which in rows[:kept]:
        lengths[which] += 1
    return Worth(lengths, goodput)
