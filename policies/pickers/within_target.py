"""The tier that a target asks for, from the chances alone: the line that solving drew on the calibration sample."""

from collections.abc import Mapping, Sequence

from policies.offer import Offer
from policies.policy import Choose


def tier(choose: Choose, p_good: Sequence[float]) -> int:
    """Place in the ladder of the model that the line of now gives, whatever the request is made of."""
    return least([choose.relative_cost[name] for name in choose.among], choose.loss_per_reference, p_good)


def least(costs: Sequence[float], loss: float, p_good: Sequence[float], floor: int = 0) -> int:
    """Place of the model with the least cost + loss, in units of the reference, none of those below `floor`. Ties go down.

    >>> least((0.25, 0.5, 1.0), 2.0, (0.5, 0.75, 1.0)), least((0.25, 0.5, 1.0), 2.0, (0.5, 0.75, 0.9), floor=2)
    (1, 2)
    """
    best, at = costs[floor] + loss * (1 - p_good[floor]), floor
    for place in range(floor + 1, len(costs)):
        cost = costs[place] + loss * (1 - p_good[place])
        if cost < best:
            best, at = cost, place
    return at


def tiers(offer: Offer, earlier: Sequence[Mapping[str, float]], climbing_from: int | None = None) -> list[int]:
    """The tier of each earlier prefix of a conversation, oldest first; those that lack a head are left out, and those without
    any chances were in doubt, so that the model for doubt was asked.

    How long they were and where the line was when they were decided is not known any more. None of them counts for less
    than it may have counted for then. `climbing_from` is where one that is never let down stood at the least: whoever may
    not have the lowest tier does not always take the next one.
    """
    found: list[int] = []
    floor = climbing_from or 0
    for p_good in earlier:
        at = highest(offer, by_tier(offer, p_good), floor)
        if at is not None:
            found.append(at)
            floor = floor if climbing_from is None else at
    return found


def tiers_by_floor(offer: Offer, p_good: Mapping[str, float]) -> Sequence[int | None]:
    """The tier of one of them, from wherever its conversation may have stood."""
    seen = by_tier(offer, p_good)
    return [highest(offer, seen, floor) for floor in range(len(offer.own))]


def by_tier(offer: Offer, p_good: Mapping[str, float]) -> Sequence[float] | None:
    """P(good) of each model of the ladder; nothing in doubt, None when a head says nothing."""
    try:
        return offer.by_tier(p_good) if p_good else ()
    except KeyError:
        return None


def highest(offer: Offer, p_good: Sequence[float] | None, floor: int) -> int | None:
    """The highest tier that a prefix may have had, wherever the line was and whatever the request was made of."""
    if not p_good:
        return None if p_good is None else max(offer.doubted, floor)
    found = floor
    for loss, costs in offer.ways:
        at = least(costs, loss, p_good, floor)
        found = at if at > found else found
    return found
