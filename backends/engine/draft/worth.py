"""How many draft tokens pay: as many as make the streams of a batch faster, all taken together; none when that is none.

A stream's speed is its expected tokens over the time of the step, and the product of all speeds is what is raised: what one
stream gains must outweigh what the others lose to its rows, in equal proportion (proportional fairness: Kelly, Maulloo and
Tan 1998). For one stream this is tokens per second. Drafts thin out under load and stop by themselves.
"""

from collections.abc import Callable, Iterator
from collections.abc import Sequence as Seq
from math import exp, log
from typing import NamedTuple

LEAST_SHARE = 0.01
"""Of a step, divided by its sequences: what a row is believed to cost at least. Noise must not make rows look free."""

LEAST_GAIN = 0.05
"""Expected gains below this are left alone: they are as likely an error of the estimates."""

Seconds = Callable[[int], float]
"""What a pass over so many rows costs."""


class Worth(NamedTuple):
    """Draft tokens for each sequence, and how many times as fast a stream becomes by them, as the geometric mean."""

    lengths: list[int]
    speedup: float


def worthwhile(
    chances: Seq[Seq[float]], step: Seconds, draft: Seconds = lambda _: 0.0, spare: Seq[float] = ()
) -> Worth:
    """The best lengths, given the falling chances of each sequence's drafts and what passes cost.

    `step(rows)` verifies rows, `draft(rows)` makes one more draft token for each of `rows` sequences. `spare` are the
    seconds that each sequence may be expected to lose, to the rows of others, at most.

    >>> worthwhile([[0.9, 0.8], [0.1]], step=lambda rows: 1 + 0.1 * rows).lengths
    [2, 0]
    """
    nothing = best = Worth([0] * len(chances), 1.0)
    for passes in _depths(chances, draft):
        found = _within(chances, passes, step, draft, spare)
        if found.speedup > best.speedup:
            best = found
        elif passes > 1:
            break
    return best if best.speedup > 1 + LEAST_GAIN else nothing


def _depths(chances: Seq[Seq[float]], draft: Seconds) -> range:
    """Numbers of draft passes to compare. Free ones need no comparison: the deepest holds all others."""
    deepest = max(map(len, chances), default=0)
    return range(1 if draft(1) else max(1, deepest), deepest + 1)


def _within(chances: Seq[Seq[float]], passes: int, step: Seconds, draft: Seconds, spare: Seq[float]) -> Worth:
    """The best lengths up to `passes`: rows are added by what they gain, and the best number of them is kept.

    What more rows cannot reach, even if they cost nothing, is not looked at.
    """
    rows = [row for which, each in enumerate(chances) for row in _gains(each[:passes], which)]
    own = len(chances)
    plain = spent = step(own)
    least = LEAST_SHARE * spent / own
    kept, speedup, gained = 0, 1.0, 0.0
    most = exp(sum(gain for gain, _ in rows) / own)
    rows.sort(reverse=True)
    gains = [0.0] * own
    for number, (gain, which) in enumerate(rows, 1):
        gained += gain
        gains[which] += gain
        spent = max(spent + least, step(own + number))
        whole = spent + passes * draft(max(1, number // passes))
        found = exp(gained / own) * plain / whole
        if found > speedup and _is_bearable(gains, whole / plain, plain, spare):
            kept, speedup = number, found
        if most * plain <= speedup * spent:
            break
    lengths = [0] * own
    for _, which in rows[:kept]:
        lengths[which] += 1
    return Worth(lengths, speedup)


def _is_bearable(gains: Seq[float], slower: float, plain: float, spare: Seq[float]) -> bool:
    """Whether nobody is expected to lose more than he may: his tokens at the plain pace, less the time that they take."""
    return all((slower - exp(gain)) * plain <= most for gain, most in zip(gains, spare, strict=False))


def _gains(falling: Seq[float], which: int) -> Iterator[tuple[float, int]]:
    """The logarithm of what each further token multiplies the stream's expected tokens by; it falls with the chances."""
    expected = 1.0
    for chance in falling:
        yield log(1 + chance / expected), which
        expected += chance
