"""The tier that a target asks for, from the chances alone: the line that solving drew on the calibration sample."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from policies.catalogue import Model
from policies.policy import Choose


def chances(choose: Choose, models: Mapping[str, Model], p_good: Mapping[str, float]) -> Mapping[str, float] | None:
    """P(good) of each model of the ladder through its head; None when a head says nothing."""
    found: dict[str, float] = {}
    for name in choose.among:
        p = p_good.get(models[name].head or name)
        if p is None:
            return None
        found[name] = p
    return found


def tier(
    choose: Choose, chance: Mapping[str, float], loss: float, costs: Mapping[str, float] | None = None, floor: int = 0
) -> int:
    """Place in the ladder of the model with the least cost + loss, in units of the reference, none of those below `floor`.
    Ties go down."""
    costs = costs or choose.relative_cost
    losses = [costs[m] + loss * (1 - chance[m]) for m in choose.among[floor:]]
    return floor + losses.index(min(losses))


def tiers(
    choose: Choose,
    models: Mapping[str, Model],
    earlier: Sequence[Mapping[str, float]],
    climbing_from: int | None = None,
) -> list[int]:
    """The tier of each earlier prefix of a conversation, oldest first; those that lack a head are left out, and those without
    any chances were in doubt, so that the model for doubt was asked.

    How long they were and where the line was when they were decided is not known any more. None of them counts for less
    than it may have counted for then. `climbing_from` is where one that is never let down stood at the least: whoever may
    not have the lowest tier does not always take the next one.
    """
    if not earlier:
        return []
    found: list[int] = []
    floor = climbing_from or 0
    for p_good in earlier:
        chance = chances(choose, models, p_good)
        if chance is None and p_good:
            continue
        at = max(choose.among.index(choose.when_unsure), floor) if chance is None else tier_then(choose, chance, floor)
        found.append(at)
        floor = floor if climbing_from is None else at
    return found


def tier_then(choose: Choose, chance: Mapping[str, float], floor: int = 0) -> int:
    """The highest that it may have been, wherever the line was and whatever the request was made of."""
    line, costs = choose.line, [choose.relative_cost, *extremes(choose)]
    return max(tier(choose, chance, loss, cost, floor) for loss in {line.loss, line.loss_before} for cost in costs)


def extremes(choose: Choose) -> Iterator[Mapping[str, float]]:
    """Relative costs of a request that is all prompt, and of one that is all answer: others lie between the two."""
    for rate in (attrgetter("input"), attrgetter("output")):
        unit = rate(choose.prices[choose.target.of])
        if unit:
            yield {name: rate(choose.prices[name]) / unit for name in choose.among}
