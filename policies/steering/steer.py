"""Where the line goes next, from what a window came to. In small steps, and none for small errors."""

from collections.abc import Sequence
from math import sqrt
from operator import mul

from policies.policy import Target
from policies.steering.bill import beyond
from policies.steering.foretold import AS_RECKONED, expected, foretell, owed
from policies.steering.frontier import frontier, weights
from policies.steering.window import Bill, Bills, Sighting, T, Window

EVERY = 15
"""Requests of a route between two looks at its line."""

AT_LEAST = 100
"""Requests that a window needs before it says more of the traffic than the calibration sample."""

EARLIEST = 25
"""The same on a route that escalates: the line was solved without what that costs."""

MEMORY = 200.0
"""Requests after which one says 1/e of what a new one does on where the line belongs."""

DEBT_MEMORY = 300.0
"""The same, on what was spent too much or too little."""

FREE_DEBT = 1.0
"""What may be owed before anything is repaid, in requests to the reference model."""

REPAY_OVER = 60.0
"""Requests over which a debt is repaid."""

MOST_REPAID = 15.0
"""Percent of the reference by which repaying may shift the aim."""

HOLD = 1.0
"""An error of the line below this, in percent of the reference, is left alone."""

HOLD_EARLY = 100.0
"""The same for fewer than AT_LEAST requests, over the root of how many: so much is chance."""

STEP = 1.2
"""The line moves by at most this factor at once ..."""

PULL = 1.25
"""... and one tenant moves it by at most this factor from where the others put it."""


def steer(target: Target, window: Window, line: float, bills: Bills = (), at_most: float = 0.0) -> float:
    """The next line; `line` itself where the window says too little, or nearly the same. `at_most` is the share of requests
    that may escalate: where none may, only a window of AT_LEAST tells more than what the line was solved on."""
    if len(window) < (EARLIEST if at_most and target.kind == "cost" else AT_LEAST):
        return line
    wanted = _wanted(target, window, line, bills, at_most)
    tenant = heaviest(window)
    others = of_others(window, tenant)
    if len(others) >= AT_LEAST:
        theirs = _wanted(target, others, line, of_others(bills, tenant), at_most)
        wanted = min(max(wanted, theirs / PULL), theirs * PULL)
    return min(max(wanted, line / STEP), line * STEP)


def lifted(floor: Target, window: Window, line: float, wanted: float) -> float:
    """`wanted`, or the higher line that keeps the floor; from `line` in one step at most."""
    if len(window) < AT_LEAST:
        return wanted
    needed = least_line(floor, window, wanted)
    others = without_heaviest(window)
    if len(others) >= AT_LEAST:
        needed = min(needed, least_line(floor, others, wanted) * PULL)
    return min(max(needed, wanted), line * STEP)


def least_line(floor: Target, sightings: Sequence[Sighting], wanted: float) -> float:
    """The line from `wanted` upwards at which these requests come to the floor."""
    found = frontier(sightings, MEMORY)
    if found.percent_at(wanted) >= floor.percent:
        return wanted
    return found.line_for(floor.percent, floor.kind) or wanted


def aim(target: Target, window: Sequence[Sighting], beyond_these: float = 0.0) -> float:
    """The percent to solve for: the target, less what was spent too much of late: on these requests, and `beyond_these`, in
    requests to the reference."""
    faded, share = weights(len(window), DEBT_MEMORY), target.percent / 100
    mean: float = sum(map(mul, faded, [one.base for one in window])) / sum(faded)
    debt: float = sum(map(mul, faded, [one.spent - share * one.base for one in window])) / mean + beyond_these
    repaid = min(100 * max(0.0, abs(debt) - FREE_DEBT) / REPAY_OVER, MOST_REPAID)
    return target.percent - repaid if debt > 0 else target.percent + repaid


def realised(target: Target, window: Window, bills: Bills = ()) -> float:
    """What the requests of a window came to, in percent of the reference: as reckoned, and what the bills have beyond it."""
    reckoned = 100 * sum([one.spent for one in window]) / sum([one.base for one in window])
    return reckoned + beyond(bills) if target.kind == "cost" else reckoned


def without_heaviest(window: Window) -> Window:
    """The requests of all tenants but the one with the most of late."""
    return of_others(window, heaviest(window))


def of_others(window: tuple[T, ...], tenant: str) -> tuple[T, ...]:
    return tuple([one for one in window if one.tenant != tenant])


def heaviest(window: Window) -> str:
    tenants = {one.tenant for one in window}
    if len(tenants) == 1:
        return tenants.pop()
    recent: dict[str, float] = {}
    for weight, one in zip(weights(len(window), MEMORY), window, strict=True):
        recent[one.tenant] = recent.get(one.tenant, 0.0) + weight
    return max(recent, key=lambda name: recent[name])


def _wanted(target: Target, sightings: Sequence[Sighting], line: float, bills: Sequence[Bill], at_most: float) -> float:
    """The line that these requests alone ask for."""
    told = foretell(bills, at_most) if target.kind == "cost" else AS_RECKONED
    if told != AS_RECKONED:
        sightings = [expected(one, told) for one in sightings]
    found = frontier(sightings, MEMORY)
    more = owed(bills, told, target.percent / 100, DEBT_MEMORY) if target.kind == "cost" else 0.0
    wish = aim(target, sightings, more)
    if abs(found.percent_at(line) - wish) <= _held(len(sightings)):
        return line
    return found.line_for(wish, target.kind) or line


def _held(seen: int) -> float:
    return HOLD if seen >= AT_LEAST else HOLD_EARLY / sqrt(seen)
