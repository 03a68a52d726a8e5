"""All candidates in the order in which they are to be asked: preference, then load bounds, then expected cost."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policies.affinity.ring import rank
from policies.decision import Candidate, Term
from policies.policy import Route
from policies.terms.cost import Cost


class Weighed(NamedTuple):
    """A replica of a model with what ordering needs: its cost unrounded, and its load. `costs` are the parts of it, by name,
    which only the record of a decision spells out."""

    model: str
    replica: str
    costs: tuple[tuple[str, Cost], ...]
    microusd: float
    load: float
    is_overloaded: bool

    @property
    def candidate(self) -> Candidate:
        """As it stands in a decision."""
        terms = tuple([Term(name, round(cost.microusd), cost.why) for name, cost in self.costs])
        return Candidate(self.model, self.replica, terms)

    def with_quality(self, loss: Cost) -> "Weighed":
        """The same, had its model another chance of a good answer."""
        costs = tuple([(name, loss if name == "quality" else cost) for name, cost in self.costs])
        return self._replace(costs=costs, microusd=sum([cost.microusd for _, cost in costs]))


Place = tuple[int, bool, float, float]


def in_order(weighed: Iterable[Weighed], preference: Mapping[str, int], key: str) -> list[Weighed]:
    """Lowest first. Equal cost: the lower load, then a stable draw for `key`."""

    def place(w: Weighed) -> Place:
        return preference[w.model], w.is_overloaded, w.microusd, w.load

    found = list(weighed)
    if len({place(w) for w in found}) == len(found):
        return sorted(found, key=place)
    return sorted(found, key=lambda w: (*place(w), -rank(key, w.replica)))


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
