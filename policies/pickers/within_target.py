"""The tier that a target asks for, from the chances alone: the line that solving drew on the calibration sample."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from policies.catalogue import Model
from policies.policy import Choose


def chances(choose: Choose, models: Mapping[str, Model], p_good: Mapping[str, float]) -> Mapping[str, float] | None:
    """P(good) of each model of the ladder through its head; None when a head says nothing."""
    try:
        return {name: p_good[models[name].head or name] for name in choose.among}
    except KeyError:
        return None


def tier(choose: Choose, chance: Mapping[str, float], loss: float, costs: Mapping[str, float] | None = None) -> int:
    """Place in the ladder of the model with the least cost + loss, in units of the reference. Ties go down."""
    costs = costs or choose.relative_cost
    losses = [costs[m] + loss * (1 - chance[m]) for m in choose.among]
    return losses.index(min(losses))


def tiers(choose: Choose, models: Mapping[str, Model], earlier: Sequence[Mapping[str, float]]) -> list[int]:
    """The tier of each earlier prefix of a conversation, oldest first; those that lack a head are left out, and those without
    any chances were in doubt, so that the model for doubt was asked.

    How long they were and where the line was when they were decided is not known any more. None of them counts for less
    than it may have counted for then.
    """
    if not earlier:
        return []
    known = [(p_good, chances(choose, models, p_good)) for p_good in earlier]
    doubt = choose.among.index(choose.when_unsure)
    line, costs = choose.line, [choose.relative_cost, *extremes(choose)]
    then = [(loss, cost) for loss in {line.loss, line.loss_before} for cost in costs]
    return [
        doubt if chance is None else max(tier(choose, chance, loss, cost) for loss, cost in then)
        for p_good, chance in known
        if chance is not None or not p_good
    ]


def extremes(choose: Choose) -> Iterator[Mapping[str, float]]:
    """Relative costs of a request that is all prompt, and of one that is all answer: others lie between the two."""
    for rate in (attrgetter("input"), attrgetter("output")):
        unit = rate(choose.prices[choose.target.of])
        if unit:
            yield {name: rate(choose.prices[name]) / unit for name in choose.among}
