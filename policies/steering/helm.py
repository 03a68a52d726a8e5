"""The line of one route over time, as one fold: what was decided goes in, the next line comes out."""

import msgspec

from policies.policy import Choose, Line
from policies.steering.steer import lifted, steer
from policies.steering.window import Bills, Sightings, Window, take

SLOTS = 60
"""Parts of the time for which lines are remembered; of each the highest line is kept."""


class Past(msgspec.Struct, frozen=True):
    """The highest line that was in force in the time from `at` on, in seconds since the epoch."""

    at: float
    loss: float


class Helm(msgspec.Struct, frozen=True):
    """What steering one route has to remember. `floor` is the window of its floor, empty where it has none; `bills` are of
    requests that were settled of late."""

    window: Window = ()
    floor: Window = ()
    past: tuple[Past, ...] = ()
    bills: Bills = ()


def turn(
    helm: Helm, choose: Choose, fresh: Sightings, *, now: float, remember_s: float, at_most: float = 0.0
) -> tuple[Helm, Line]:
    """The helm after these sightings, and the line from `now` on. The line of `choose` is the one in force so far. `at_most` is
    the share of the route's requests that may escalate."""
    window, floor = take(helm.window, fresh.target), take(helm.floor, fresh.floor)
    bills = take(helm.bills, fresh.bills)
    line = choose.loss_per_reference
    loss = steer(choose.target, window, line, bills, at_most)
    if choose.floor is not None:
        loss = lifted(choose.floor, floor, line, loss)
    past = remember(remember(helm.past, line, now, remember_s), loss, now, remember_s)
    return Helm(window, floor, past, bills), Line(loss, max(one.loss for one in past))


def remember(past: tuple[Past, ...], loss: float, now: float, remember_s: float) -> tuple[Past, ...]:
    """`past` with the line that is in force now, without what is older than `remember_s`.

    >>> remember((Past(0.0, 9.0), Past(100.0, 3.0)), 2.0, 130.0, 120.0)
    (Past(at=100.0, loss=3.0), Past(at=130.0, loss=2.0))
    """
    kept = [one for one in past if one.at > now - remember_s]
    if kept and kept[-1].at > now - remember_s / SLOTS:
        last = kept.pop()
        return (*kept, Past(last.at, max(last.loss, loss)))
    return (*kept, Past(now, loss))


def carried(helm: Helm, old: Choose, new: Choose) -> tuple[Helm, Line]:
    """The helm and the line under a changed policy: kept as far as they still mean the same."""
    if not new.adapts:
        return Helm(), new.line
    same_ladder = (old.among, old.relative_cost) == (new.among, new.relative_cost)
    if same_ladder and (old.target, old.floor) == (new.target, new.floor) and old.expected == new.expected:
        return helm, old.line
    if same_ladder:
        line = Line(new.loss_per_reference, max(old.line.loss_before, new.loss_per_reference))
        return Helm(past=helm.past, bills=helm.bills), line
    return Helm(), new.line
