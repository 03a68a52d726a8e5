"""All candidates in the order in which they are to be asked: preference, then load bounds, then expected cost."""

from collections.abc import Sequence

import msgspec

from policies.affinity.ring import rank
from policies.decision import Call
from policies.offer import Offered
from policies.snapshot import ReplicaState
from policies.terms.cost import FREE, Rates
from policies.terms.quality import loss

Stand = tuple[bool, float, float, int, Call]
"""A replica among those of its model: whether it is overloaded, what it costs but for the chance of a bad answer, its load, its
place among them, and the call that asks it."""


class Weighed(msgspec.Struct, frozen=True):
    """The replicas of a model that may answer, and by their place what their costs are made of: tokens of the prompt that are
    `held` there (or, `is_assumed`, taken to be), and how many times as long as the fastest each takes. `most_held` is what one
    of them holds at most, and `crowd` how many prompts are under way at all that hold as much. `best` is the foremost of
    them."""

    offered: Offered
    states: Sequence[ReplicaState]
    stands: Sequence[Stand]
    held: Sequence[int]
    slowness: Sequence[float]
    most_held: int
    crowd: int
    is_assumed: bool
    best: Stand


Place = tuple[int, bool, float, float, int, Call]
"""What orders a candidate, then where it stands among all, which tells none from another, and the candidate."""


def in_order(
    weighed: Sequence[Weighed],
    preference: Sequence[int],
    key: str,
    rates: Rates = FREE,
    chance: Sequence[float] | None = None,
) -> list[Call]:
    """Lowest first. `preference` goes by the place of the model in its offer, `chance` of a good answer by its tier. Equal
    cost: the lower load, then a stable draw for `key`."""
    places: list[Place] = []
    for w in weighed:
        offered = w.offered
        first, lost = preference[offered.place], 0.0
        if chance is not None and offered.tier >= 0:
            lost = loss(rates, chance[offered.tier])
        for is_overloaded, microusd, load, _, call in w.stands:
            places.append((first, is_overloaded, microusd + lost, load, len(places), call))
    places.sort()
    if has_ties(places):
        places.sort(key=lambda place: (place[:4], -rank(key, place[5].replica)))
    return [place[5] for place in places]


def has_ties(places: Sequence[Place]) -> bool:
    """Whether two neighbours differ in nothing but where they stood."""
    before = places[0]
    for place in places[1:]:
        if place[2] == before[2] and place[:4] == before[:4]:
            return True
        before = place
    return False


def foremost(
    weighed: Sequence[Weighed], preference: Sequence[int], rates: Rates, chance: Sequence[float] | None
) -> str | None:
    """The model that comes first in that order; None where cost does not tell, so that one has to put all in order."""
    least, first = None, None
    for w in weighed:
        offered, (is_overloaded, cost, _, _, _) = w.offered, w.best
        if chance is not None and offered.tier >= 0:
            cost += loss(rates, chance[offered.tier])
        place = preference[offered.place], is_overloaded, cost
        if least is None or place < least:
            least, first = place, offered
        elif place == least:
            first = None
    return None if first is None else first.model.name


def first_of(ordered: Sequence[Call], model: str) -> list[Call]:
    """The same order with the replicas of `model` before all others."""
    return sorted(ordered, key=lambda call: call.model != model)


def to_be_asked(ordered: list[Call], fallback: Sequence[str]) -> list[Call]:
    """The choice and its fallbacks as the route lists them. Other replicas of the chosen model come first: the model was
    right."""
    chosen = ordered[0].model
    listed = [chosen, *(model for model in fallback if model != chosen)]
    return [call for model in listed for call in ordered if call.model == model]
