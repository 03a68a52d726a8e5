"""How a turn of a conversation may have been parted when it was decided, as far as that is not known any more: where the line
was, and what the request was made of."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from policies.policy import Choose

Way = tuple[float, Sequence[float]]
"""What one bad answer costs, and what each model of the ladder charges, both in units of the reference."""


def ways_of(choose: Choose) -> tuple[Way, ...]:
    """Each once. A request may be all prompt, or all answer: others lie between the two."""
    line, costs = choose.line, [tuple([choose.relative_cost[name] for name in choose.among]), *extremes(choose)]
    return tuple(dict.fromkeys([(loss, cost) for loss in (line.loss, line.loss_before) for cost in costs]))


def extremes(choose: Choose) -> Iterator[tuple[float, ...]]:
    """Relative costs of a request that is all prompt, and of one that is all answer."""
    for rate in (attrgetter("input"), attrgetter("output")):
        unit = rate(choose.prices[choose.target.of])
        if unit:
            yield tuple([rate(choose.prices[name]) / unit for name in choose.among])
