"""What requests come to in the end, as bills have taught: answers that are given up, and longer answers where it is hard.

A decision reckons with one answer of the usual length. On a route that escalates, an answer of a model that is not good with
the chance d is given up more often the higher d is; so what a bill has beyond what was reckoned is a line in d. With it a
request counts from the moment of its decision as what it is expected to come to, however long its bill takes, and where
questions become harder that is known with the first of them.
"""

from collections.abc import Iterable, Sequence
from operator import mul
from typing import NamedTuple

from policies.steering.frontier import weights
from policies.steering.window import Bill, Rise, Sighting

AT_LEAST = 25
"""Bills that are needed before they say anything."""

MEMORY = 500.0
"""Bills after which one says 1/e of what a new one does."""

CAUGHT = 0.8
"""Of the answers that are no good, the part that is taken to be given up as long as no bill tells."""

USUAL_DOUBT = 0.25
"""What a doubt is taken to be, on average, as long as no bill tells."""

FIRM = 30.0
"""Bills that say as much as what is taken to be."""

SPREAD = 0.04
"""Variance of doubts that those bills have."""

MOST_BEYOND = 1.5
"""Times the reference that an answer comes to beyond what was reckoned, at most."""

LONGEST = 4.0
"""Times as long as others, or as short, that hard questions are taken to be answered at, at most."""


class Foretold(NamedTuple):
    """A model that costs the share c of the reference, and is not good with the chance d, comes to (1 - c) (anyway +
    given_up d) times the reference beyond its own price. All of it is 1 + longer d times as much, d then being the lowest
    tier's."""

    anyway: float = 0.0
    given_up: float = 0.0
    longer: float = 0.0

    def share(self, share: float, doubt: float) -> float:
        """What a model that costs this share of the reference comes to, as a share of it.

        >>> Foretold(anyway=0.1, given_up=0.5).share(0.2, 0.6)
        0.52
        """
        if share >= 1.0:
            return share
        more = self.anyway + self.given_up * doubt
        if not -MOST_BEYOND <= more <= MOST_BEYOND:
            more = MOST_BEYOND if more > 0 else -MOST_BEYOND
        return share + (1.0 - share) * more

    def length(self, doubt: float) -> float:
        times = 1.0 + self.longer * doubt
        if 1 / LONGEST <= times <= LONGEST:
            return times
        return LONGEST if times > 1.0 else 1 / LONGEST


AS_RECKONED = Foretold()

Row = tuple[float, float, float]
"""How much it says, the doubt, what came of it."""


def foretell(bills: Sequence[Bill], at_most: float = 0.0) -> Foretold:
    """From bills, oldest first. `at_most` is the share of the route's requests that may escalate.

    >>> foretell([]), foretell([], 1.0)
    (Foretold(anyway=0.0, given_up=0.0, longer=0.0), Foretold(anyway=0.0, given_up=0.8, longer=0.0))
    """
    taken = (0.0, min(CAUGHT, at_most / USUAL_DOUBT))
    if len(bills) < AT_LEAST:
        return Foretold(*taken)
    faded = weights(len(bills), MEMORY)
    mean: float = sum(map(mul, faded, [one.base for one in bills])) / sum(faded)
    beyond = [row for weight, one in zip(faded, bills, strict=True) if (row := _beyond(weight / mean, one))]
    ratios = [one.base / one.reckoned_base for one in bills]
    usual: float = sum(map(mul, faded, ratios)) / sum(faded)
    level, slope = fitted(
        ((weight, one.doubt_of_lowest, ratio / usual) for weight, one, ratio in zip(faded, bills, ratios, strict=True)),
        (1.0, 0.0),
        firm=0.0,
    )
    return Foretold(*fitted(beyond, taken, FIRM), slope / level if level > 1 / LONGEST else 0.0)


def _beyond(weight: float, bill: Bill) -> Row | None:
    """None: it went to the reference, or to who is as dear."""
    share = bill.reckoned / bill.reckoned_base
    if share >= 1.0:
        return None
    return (weight * bill.base * (1 - share) ** 2, bill.doubt, (bill.spent / bill.base - share) / (1 - share))


def fitted(rows: Iterable[Row], taken: tuple[float, float], firm: float) -> tuple[float, float]:
    """Level and slope in the doubt by least squares, drawn to what is `taken` for them as if `firm` bills had said that level,
    and FIRM that slope (ridge regression: Hoerl and Kennard, 1970).

    >>> fitted([], (0.5, 0.25), 1.0)
    (0.5, 0.25)
    """
    total, steep = firm + 1e-9, FIRM * SPREAD
    x, xx, y, xy = 0.0, steep, total * taken[0], steep * taken[1]
    for weight, doubt, came in rows:
        leant = weight * doubt
        total += weight
        x += leant
        xx += leant * doubt
        y += weight * came
        xy += leant * came
    by = total * xx - x * x
    return (xx * y - x * xy) / by, (total * xy - x * y) / by


def expected(one: Sighting, told: Foretold) -> Sighting:
    """`one`, with what it is expected to come to. A rise that brings more than it costs costs nothing."""
    reckoned, share_of = one.base, told.share
    base, share = reckoned * told.length(one.doubt_of_lowest), one.start / reckoned
    came = was = share_of(share, one.doubt)
    rises: list[Rise] = []
    for rise in one.rises:
        share += rise.amount / reckoned
        after = share_of(share, rise.doubt)
        after = max(after, was)
        rises.append(Rise(rise.loss, (after - was) * base, rise.doubt))
        was = after
    spent = share_of(one.spent / reckoned, one.doubt_of_chosen)
    return Sighting(one.tenant, base, came * base, tuple(rises), spent * base)


def owed(bills: Sequence[Bill], told: Foretold, part: float, memory: float) -> float:
    """How much more the bills have than was expected of the same requests, in requests to the reference, where it may come to
    `part` of the reference; 0 while there are few."""
    if len(bills) < AT_LEAST:
        return 0.0
    faded, length, share = weights(len(bills), memory), told.length, told.share
    bases = [one.reckoned_base * length(one.doubt_of_lowest) for one in bills]
    shares = [share(one.reckoned / one.reckoned_base, one.doubt) for one in bills]
    came = _over(faded, [one.base for one in bills], [one.spent for one in bills], part)
    return (came - _over(faded, bases, map(mul, bases, shares), part)) * sum(faded)


def _over(faded: Sequence[float], bases: Iterable[float], spent: Iterable[float], part: float) -> float:
    """What was spent beyond `part`, as a share of the base."""
    base: float = sum(map(mul, faded, bases))
    came: float = sum(map(mul, faded, spent))
    return came / base - part
