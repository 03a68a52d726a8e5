"""All candidates in the order in which they are to be asked: preference, then load bounds, then expected cost."""

from collections.abc import Mapping, Sequence

import msgspec

from policies.affinity.ring import rank
from policies.policy import Route
from policies.terms.cost import Cost


class Weighed(msgspec.Struct, frozen=True):
    """A replica of a model: what asking it costs but for the chance of a bad answer, by its parts and together, and its
    load."""

    model: str
    replica: str
    price: Cost
    affinity: Cost
    again: Cost
    wait: Cost
    microusd: float
    load: float
    is_overloaded: bool


NO_LOSSES: Mapping[str, float] = {}
"""Expected of bad answers, by model, in micro-dollars."""

Place = tuple[int, bool, float, float]


def in_order(
    weighed: Sequence[Weighed], preference: Mapping[str, int], key: str, losses: Mapping[str, float] = NO_LOSSES
) -> list[Weighed]:
    """Lowest first. Equal cost: the lower load, then a stable draw for `key`."""
    places = places_of(weighed, preference, losses)
    order = sorted(range(len(places)), key=places.__getitem__)
    if len(set(places)) < len(places):
        order.sort(key=lambda at: (places[at], -rank(key, weighed[at].replica)))
    return [weighed[at] for at in order]


def foremost(
    weighed: Sequence[Weighed], preference: Mapping[str, int], key: str, losses: Mapping[str, float] = NO_LOSSES
) -> str:
    """The model that comes first in that order."""
    places = places_of(weighed, preference, losses)
    least = min(places)
    tied = [w for at, w in enumerate(weighed) if places[at] == least]
    if len({w.model for w in tied}) == 1:
        return tied[0].model
    return max(tied, key=lambda w: rank(key, w.replica)).model


def places_of(
    weighed: Sequence[Weighed], preference: Mapping[str, int], losses: Mapping[str, float]
) -> Sequence[Place]:
    return [
        (
            preference[w.model],
            w.is_overloaded,
            w.microusd + losses.get(w.model, 0.0),
            w.load,
        )
        for w in weighed
    ]


def first_of(ordered: list[Weighed], model: str) -> list[Weighed]:
    """The same order with the replicas of `model` before all others; as it is for ""."""
    return sorted(ordered, key=lambda w: w.model != model) if model else ordered


def to_be_asked(ordered: list[Weighed], route: Route) -> list[Weighed]:
    """The choice and its fallbacks: as the route lists them, else everyone in order.

    Other replicas of the chosen model come first in either case that the route lists fallbacks: the model was right.
    """
    if route.fallback is None:
        return ordered
    chosen = ordered[0].model
    listed = [chosen, *(model for model in route.fallback if model != chosen)]
    return [w for model in listed for w in ordered if w.model == model]
