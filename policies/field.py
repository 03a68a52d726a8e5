"""Who may answer a request, and what each would cost: all of a decision that does not hang on how hard the request is.

So whoever decides on several estimates of one request (both ends of a quick one, then the one that is recorded) looks at the
world once.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from policies.candidates.reject import reject
from policies.candidates.sift import Sifted, sift
from policies.decision import Dropped, Reject
from policies.escalate.moving import moved
from policies.experiments.enrol import Ramps, enrol
from policies.experiments.plan import Assignment
from policies.facts import AUTO, Facts
from policies.pickers.lowest_cost import Weighed
from policies.policy import PINNED, Policy, Route
from policies.snapshot import Snapshot
from policies.terms.cost import Rates
from policies.weigh import history_at_home, price_of, request_rates, weigh

NOWHERE = Route(name="")
NOBODY = Sifted({}, ())
FREE = Rates(0.0, 0.0)


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """`policy` is that of the variants that the request gets, `asked` the model that a route without a choice uses, `route`
    NOWHERE where none was met. With a `fault` nobody may answer. `weighed` holds what was weighed so far, by the model that is
    taken for the conversation's home."""

    policy: Policy
    facts: Facts
    snapshot: Snapshot
    assignments: tuple[Assignment, ...] = ()
    route: Route = NOWHERE
    asked: str = ""
    sifted: Sifted = NOBODY
    outside: tuple[Dropped, ...] = ()
    fault: Reject | None = None
    rates: Rates = FREE
    weighed: dict[str, Sequence[Weighed]] = {}

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        return (*self.sifted.dropped, *self.outside)

    def candidates(self, home: str) -> Sequence[Weighed]:
        """Everybody that may answer, where the conversation's last answer came from the model `home`, or ""."""
        if not self.facts.history_tokens:
            home = ""
        if home not in self.weighed:
            self.weighed[home] = list(self._weigh(home))
        return self.weighed[home]

    def _weigh(self, home: str) -> Iterator[Weighed]:
        for name, states in self.sifted.ready.items():
            model = self.policy.models[name]
            yield from weigh(
                model,
                states,
                self.facts,
                rate=price_of(self.route, model),
                exchange=self.rates,
                bounds=self.policy.affinity,
                assumed=history_at_home(states, self.facts) if name == home else 0,
            )


def field_of(policy: Policy, facts: Facts, snapshot: Snapshot) -> Field:
    """By the policy of the variants that the request gets."""
    assignments = assigned(policy, facts, forced=snapshot.experiments, ramps=snapshot.ramps)
    return survey(policy.arm(assignments) if assignments else policy, facts, snapshot, assignments)


def assigned(policy: Policy, facts: Facts, *, forced: Mapping[str, str], ramps: Ramps) -> tuple[Assignment, ...]:
    """The request's variants, by the route that it meets in the file's own policy. `forced` are those of experiments that are
    over, `ramps` the weights of those whose weights were changed."""
    if not policy.experiments:
        return ()
    route = matching_route(policy, facts)
    return () if route is None else enrol(policy.experiments, route.name, facts, forced=forced, ramps=ramps)


def survey(policy: Policy, facts: Facts, snapshot: Snapshot, assignments: tuple[Assignment, ...] = ()) -> Field:
    """Route, then candidates."""
    route = matching_route(policy, facts)
    is_unknown = facts.requested != AUTO and facts.requested not in policy.models
    if is_unknown or route is None:
        fault = (
            unknown_model(policy, facts)
            if is_unknown
            else Reject("no_route", "no route of the policy matches this request")
        )
        return Field(policy=policy, facts=facts, snapshot=snapshot, assignments=assignments, fault=fault)
    asked = facts.requested if route.pins else route.use
    names = models_of(policy, route, asked, facts)
    sifted = sift([policy.models[name] for name in names], facts, snapshot)
    return Field(
        policy=policy,
        facts=facts,
        snapshot=snapshot,
        assignments=assignments,
        route=route,
        asked=asked,
        sifted=sifted,
        outside=outside(policy, route, names),
        fault=nobody_can(policy, route, asked, facts, sifted),
        rates=request_rates(route, policy.models, asked, facts),
        weighed={},
    )


def matching_route(policy: Policy, facts: Facts) -> Route | None:
    """The first route that matches. A concrete name only meets routes that honour it, and is honoured without one."""
    is_concrete = facts.requested != AUTO
    for route in policy.routes:
        if route.pins == is_concrete and route.matches(facts):
            return route
    return PINNED if is_concrete else None


def models_of(policy: Policy, route: Route, asked: str, facts: Facts) -> Sequence[str]:
    """Whom a request may be for: the ladder of its route or its model, whom its conversation was taken to, the fallbacks."""
    own = (asked,) if route.choose is None else route.choose.among
    taken = moved(policy, route, facts)
    first = () if taken is None or taken.model in own else (taken.model,)
    return tuple(dict.fromkeys((*first, *own, *(route.fallback or ())))) if first or route.fallback else own


def nobody_can(policy: Policy, route: Route, asked: str, facts: Facts, sifted: Sifted) -> Reject | None:
    """The reject, if no candidate is left. A pinned request that its model cannot take is told so, not sent elsewhere:
    its fallbacks are for failures."""
    if not sifted.ready:
        return reject(policy.models, facts, sifted.dropped)
    if not route.pins:
        return None
    own_fault = [drop for drop in sifted.dropped if drop.model == asked and drop.filter != "healthy"]
    return reject(policy.models, facts, own_fault) if own_fault else None


def outside(policy: Policy, route: Route, names: Sequence[str]) -> tuple[Dropped, ...]:
    """The models that this route never asks."""
    if len(names) == len(policy.models):
        return ()
    reason = f"not in route {route.name}"
    return tuple([Dropped(name, "route", reason) for name in policy.models if name not in names])


def unknown_model(policy: Policy, facts: Facts) -> Reject:
    """Names what the caller may ask for, and nothing else."""
    may = [name for name in policy.models if facts.allowed_models is None or name in facts.allowed_models]
    names = ", ".join([AUTO, *may])
    return Reject("unknown_model", f"there is no model {facts.requested!r}; the models are: {names}", "model")
