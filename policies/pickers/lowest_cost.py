"""All candidates in the order in which they are to be asked: preference, then load bounds, then expected cost."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from policies.affinity.ring import rank
from policies.offer import Offered
from policies.policy import Route
from policies.snapshot import ReplicaState
from policies.terms.quality import NO_LOSSES


class Weighed(msgspec.Struct, frozen=True):
    """A replica of a model: what asking it costs but for the chance of a bad answer, its load, and what that cost is made of:
    tokens of the prompt that are `held` there (or, `is_assumed`, taken to be), and `missing` while another replica has them,
    how many prompts are under way at all that have them (`crowd`), and how many times as long as the fastest it takes
    (`slowness`)."""

    model: str
    replica: str
    microusd: float
    load: float
    is_overloaded: bool
    offered: Offered
    state: ReplicaState
    held: int
    is_assumed: bool
    missing: int
    crowd: int
    slowness: float


Place = tuple[int, bool, float, float, int]
"""What orders a candidate, and last where it stands among all, which tells none from another."""

Best = tuple[bool, float]
"""Of the replicas of a model: whether all of them are overloaded, and the least cost of those that count."""


def in_order(
    weighed: Sequence[Weighed], preference: Mapping[str, int], key: str, losses: Mapping[str, float] = NO_LOSSES
) -> list[Weighed]:
    """Lowest first. `losses` are expected of bad answers, by model, in micro-dollars. Equal cost: the lower load, then a stable
    draw for `key`."""
    places: list[Place] = []
    for at, w in enumerate(weighed):
        cost = w.microusd + losses.get(w.model, 0.0)
        places.append((preference[w.model], w.is_overloaded, cost, w.load, at))
    places.sort()
    if has_ties(places):
        places.sort(key=lambda place: (place[:-1], -rank(key, weighed[place[-1]].replica)))
    return [weighed[place[-1]] for place in places]


def has_ties(places: Sequence[Place]) -> bool:
    """Whether two neighbours differ in nothing but where they stood."""
    before = None
    for place in places:
        if before is not None and place[2] == before[2] and place[:-1] == before[:-1]:
            return True
        before = place
    return False


def bests_of(weighed: Iterable[Weighed]) -> Mapping[str, Best]:
    """By model, whatever its answers are worth: that is alike for all of its replicas."""
    found: dict[str, Best] = {}
    for w in weighed:
        best = found.get(w.model)
        if best is None or (w.is_overloaded, w.microusd) < best:
            found[w.model] = w.is_overloaded, w.microusd
    return found


def foremost(
    bests: Mapping[str, Best], preference: Mapping[str, int], losses: Mapping[str, float] = NO_LOSSES
) -> str | None:
    """The model that comes first in that order; None where cost does not tell, so that one has to put all in order."""
    least, first = None, None
    for model, (is_overloaded, microusd) in bests.items():
        place = preference[model], is_overloaded, microusd + losses.get(model, 0.0)
        if least is None or place < least:
            least, first = place, model
        elif place == least:
            first = None
    return first


def first_of(ordered: list[Weighed], model: str) -> list[Weighed]:
    """The same order with the replicas of `model` before all others."""
    return sorted(ordered, key=lambda w: w.model != model)


def to_be_asked(ordered: list[Weighed], route: Route) -> list[Weighed]:
    """The choice and its fallbacks: as the route lists them, else everyone in order.

    Other replicas of the chosen model come first in either case that the route lists fallbacks: the model was right.
    """
    if route.fallback is None:
        return ordered
    chosen = ordered[0].model
    listed = [chosen, *(model for model in route.fallback if model != chosen)]
    return [w for model in listed for w in ordered if w.model == model]
