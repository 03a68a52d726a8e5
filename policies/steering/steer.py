"""Where the line goes next, from what a window came to. In small steps, and none for small errors."""

from collections.abc import Sequence
from operator import mul

import msgspec

from policies.policy import Target
from policies.steering.bill import beyond
from policies.steering.frontier import frontier, weights
from policies.steering.window import Bill, Bills, Sighting, T, Window

EVERY = 25
"""Requests of a route between two looks at its line."""

AT_LEAST = 100
"""Requests that a window needs before it says anything."""

MEMORY = 200.0
"""Requests after which one says 1/e of what a new one does on where the line belongs."""

DEBT_MEMORY = 500.0
"""The same, on what was spent too much or too little."""

FREE_DEBT = 6.0
"""What may be owed before anything is repaid, in requests to the reference model: chance alone brings that about."""

REPAY_OVER = 60.0
"""Requests over which a debt is repaid."""

MOST_REPAID = 15.0
"""Percent of the reference by which repaying may shift the aim."""

HOLD = 1.0
"""An error of the line below this, in percent of the reference, is left alone."""

STEP = 1.2
"""The line moves by at most this factor at once ..."""

PULL = 1.25
"""... and one tenant moves it by at most this factor from where the others put it."""


def steer(target: Target, window: Window, line: float, bills: Bills = ()) -> float:
    """The next line; `line` itself where the window says too little, or nearly the same."""
    if len(window) < AT_LEAST:
        return line
    wanted = _wanted(what_is_left(target, bills), window, line)
    tenant = heaviest(window)
    others = of_others(window, tenant)
    if len(others) >= AT_LEAST:
        left = what_is_left(target, of_others(bills, tenant))
        theirs = _wanted(left, others, line)
        wanted = min(max(wanted, theirs / PULL), theirs * PULL)
    return min(max(wanted, line / STEP), line * STEP)


def what_is_left(target: Target, bills: Sequence[Bill]) -> Target:
    """What decisions may come to as they are reckoned, that the bills come to the target: escalations, longer answers and
    fallbacks are paid out of it. A quality is not billed."""
    if target.kind != "cost":
        return target
    return msgspec.structs.replace(target, percent=target.percent - beyond(bills))


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


def aim(target: Target, window: Sequence[Sighting]) -> float:
    """The percent to solve for: the target, less what was spent too much of late."""
    faded, share = weights(len(window), DEBT_MEMORY), target.percent / 100
    mean: float = sum(map(mul, faded, [one.base for one in window])) / sum(faded)
    owed: float = sum(map(mul, faded, [one.spent - share * one.base for one in window])) / mean
    repaid = min(100 * max(0.0, abs(owed) - FREE_DEBT) / REPAY_OVER, MOST_REPAID)
    return target.percent - repaid if owed > 0 else target.percent + repaid


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


def _wanted(target: Target, sightings: Sequence[Sighting], line: float) -> float:
    """The line that these requests alone ask for."""
    found = frontier(sightings, MEMORY)
    wish = aim(target, sightings)
    if abs(found.percent_at(line) - wish) <= HOLD:
        return line
    return found.line_for(wish, target.kind) or line
