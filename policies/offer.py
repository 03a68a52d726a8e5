"""Of a route all that the policy alone says: whom it may ask, in which order, at what prices, and whom it leaves out.

Reckoned when the first request meets the route, and kept as long as the policy is.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter

import msgspec

from policies.catalogue import Model, Price
from policies.decision import Call, Dropped
from policies.policy import Choose, Line, Policy, Route
from policies.ways import Way, ways_of


class Offered(msgspec.Struct, frozen=True):
    """A model, and the price that the route reckons with. `calls` ask its replicas, in the order in which they are listed.
    `place` is where it stands among all that the route may ask, `tier` where in its ladder, -1 outside it."""

    model: Model
    price: Price
    calls: tuple[Call, ...]
    place: int = 0
    tier: int = -1


class Offer(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """`asked` is the model that a route without a choice uses, `own` that or its ladder, and `heads` speak for those. `models`
    are those that may answer, in the order asked for; `outside` all others. `reference` is what exchange rates are reckoned
    by, and `loss` what a bad answer costs in units of what that charges. `beside`: the first of `models` is whom the
    conversation was taken to, and none of the route's own. `level` ranks the models, by place, where cost decides among the
    route's own. `told` says why the cheapest of them was chosen, with a place for the chance of each; `line` parts its
    tiers."""

    route: Route
    asked: str
    own: tuple[str, ...]
    heads: tuple[str, ...]
    models: tuple[Offered, ...]
    outside: tuple[Dropped, ...]
    reference: Offered
    loss: float
    beside: bool
    level: tuple[int, ...]
    told: str
    line: Line | None

    def place_of(self, model: str) -> int:
        """Where one of `models` stands."""
        return [one.model.name for one in self.models].index(model)

    @cached_property
    def by_tier(self) -> Callable[[Mapping[str, float]], Sequence[float]]:
        """P(good) of each model of the ladder, of chances by head. Raises KeyError where they lack one."""
        heads = self.heads
        return itemgetter(*heads) if len(heads) > 1 else lambda p_good: (p_good[heads[0]],)

    @cached_property
    def doubted(self) -> int:
        """Place in its ladder of the model for doubt."""
        return 0 if self.route.choose is None else self.own.index(self.route.choose.when_unsure)

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """How its earlier turns may have been parted; none where it does not choose."""
        return () if self.route.choose is None else ways_of(self.route.choose)


def offer_of(policy: Policy, route: Route, asked: str, taken_to: str = "") -> Offer:
    """`taken_to` is the model that the conversation was taken to, or "". One of each is kept: as many as there are routes and
    models to ask or take to."""
    key = route.name, asked, taken_to
    found = policy.offers.get(key)
    if found is None or found.route is not route:
        found = policy.offers[key] = _offer(policy, route, asked, taken_to)
    return found


def _offer(policy: Policy, route: Route, asked: str, taken_to: str) -> Offer:
    choose = route.choose
    own = (asked,) if choose is None else choose.among
    names, beside = names_of(route, own, taken_to), bool(taken_to) and taken_to not in own
    reference = policy.models[asked if choose is None else choose.target.of]
    return Offer(
        route=route,
        asked=asked,
        own=own,
        heads=tuple([policy.models[name].head or name for name in own]),
        models=tuple([offered(route, policy.models[name], place, own) for place, name in enumerate(names)]),
        outside=outside(policy, route, names),
        reference=offered(route, reference),
        loss=0.0 if choose is None else choose.loss_per_reference,
        beside=beside,
        level=ranked((0,) * len(own), len(names), beside=beside),
        told="" if choose is None else told_of(choose),
        line=None if choose is None else choose.line,
    )


def offered(route: Route, model: Model, place: int = 0, own: Sequence[str] = ()) -> Offered:
    """`own` are the models of the route's ladder."""
    return Offered(
        model,
        price_of(route, model),
        tuple([Call(model.name, replica) for replica in model.replicas]),
        place,
        own.index(model.name) if model.name in own else -1,
    )


def ranked(own: Sequence[int], count: int, *, beside: bool) -> tuple[int, ...]:
    """Ranks of all `count` models of an offer by those of the route's own: whoever the conversation was taken to `beside` these
    goes before them, fallbacks go after them.

    >>> ranked((0, 0), 3, beside=False), ranked((1, 0), 4, beside=True)
    ((0, 0, 1), (0, 2, 1, 3))
    """
    first = (0, *[1 + rank for rank in own]) if beside else tuple(own)
    last = max(first) + 1
    return first + tuple(range(last, last + count - len(first)))


def told_of(choose: Choose) -> str:
    """
    >>> from policies.policy import Expected, Target
    >>> least = Choose(among=("small", "large"), target=Target("cost", 40, "large"), when_unsure="small", prices={},
    ...     relative_cost={}, loss_per_reference=1.0, expected=Expected(40, 100, {}))
    >>> told_of(least) % (0.5, 0.75)
    'least expected cost for cost 40% of large; p_good small 0.50, large 0.75'
    """
    odds = ", ".join([f"{name} \0" for name in choose.among])
    return f"least expected cost for {choose.target}; p_good {odds}".replace("%", "%%").replace("\0", "%.2f")


def price_of(route: Route, model: Model) -> Price:
    """The price that this route reckons with: a stand-in where the ladder has none."""
    return model.price if route.choose is None else route.choose.prices.get(model.name, model.price)


def names_of(route: Route, own: tuple[str, ...], taken_to: str) -> tuple[str, ...]:
    """Whom a request may be for: whom its conversation was taken to, the route's own models, its fallbacks."""
    first = (taken_to,) if taken_to and taken_to not in own else ()
    return tuple(dict.fromkeys((*first, *own, *(route.fallback or ()))))


def outside(policy: Policy, route: Route, names: Sequence[str]) -> tuple[Dropped, ...]:
    """The models that this route never asks."""
    reason = f"not in route {route.name}"
    return tuple([Dropped(name, "route", reason) for name in policy.models if name not in names])
