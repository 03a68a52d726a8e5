"""All candidates in the order in which they are to be asked: preference, then load bounds, then expected cost."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policies.affinity.ring import rank
from policies.decision import Candidate
from policies.policy import Route


class Weighed(NamedTuple):
    """A candidate with what ordering needs and a record does not: its cost unrounded, and the load of its replica."""

    candidate: Candidate
    microusd: float
    load: float
    is_overloaded: bool


def in_order(weighed: Iterable[Weighed], preference: Mapping[str, int], key: str) -> list[Weighed]:
    """Lowest first. Equal cost: the lower load, then a stable draw for `key`."""
    found = list(weighed)
    if len(found) == 1:
        return found
    return sorted(
        found,
        key=lambda w: (
            preference[w.candidate.model],
            w.is_overloaded,
            w.microusd,
            w.load,
            -rank(key, w.candidate.replica),
        ),
    )


def first_of(ordered: list[Weighed], model: str) -> list[Weighed]:
    """The same order with the replicas of `model` before all others; as it is for ""."""
    return sorted(ordered, key=lambda w: w.candidate.model != model) if model else ordered


def to_be_asked(ordered: list[Weighed], route: Route) -> list[Weighed]:
    """The choice and its fallbacks: as the route lists them, else everyone in order.

    Other replicas of the chosen model come first in either case that the route lists fallbacks: the model was right.
    """
    if route.fallback is None:
        return ordered
    chosen = ordered[0].candidate.model
    listed = [chosen, *(model for model in route.fallback if model != chosen)]
    return [w for model in listed for w in ordered if w.candidate.model == model]
