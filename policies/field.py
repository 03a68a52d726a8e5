"""Who may answer a request, and what each would cost: all of a decision that does not hang on how hard the request is.

So whoever decides on several estimates of one request (both ends of a quick one, then the one that is recorded) looks at the
world once.
"""

from collections.abc import Mapping, Sequence

import msgspec

from policies.candidates.reject import reject
from policies.candidates.sift import Sifted, sift
from policies.decision import Dropped, Reject
from policies.escalate.moving import Moved, moved
from policies.experiments.enrol import Ramps, enrol
from policies.experiments.plan import Assignment
from policies.facts import AUTO, Facts
from policies.offer import Offer, offer_of
from policies.pickers.lowest_cost import Best, Weighed, bests_of
from policies.policy import PINNED, Policy, Route
from policies.snapshot import Snapshot
from policies.terms.cost import Rates
from policies.weigh import history_at_home, request_rates, weigh

NOBODY = Sifted({}, ())
FREE = Rates(0.0, 0.0)


class Contest(msgspec.Struct, frozen=True):
    """Everybody that may answer, and of each model the best."""

    weighed: Sequence[Weighed]
    bests: Mapping[str, Best]


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """`policy` is that of the variants that the request gets, `offer` None where no route was met, `taken` whom the request is
    for before anybody is asked. With a `fault` nobody may answer. `contests` hold what was weighed so far, by the model that is
    taken for the conversation's home."""

    policy: Policy
    facts: Facts
    snapshot: Snapshot
    assignments: tuple[Assignment, ...] = ()
    offer: Offer | None = None
    taken: Moved | None = None
    sifted: Sifted = NOBODY
    fault: Reject | None = None
    rates: Rates = FREE
    contests: dict[str, Contest] = {}

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        outside = () if self.offer is None else self.offer.outside
        return self.sifted.dropped + outside

    def contest(self, home: str) -> Contest:
        """Where the conversation's last answer came from the model `home`, or ""."""
        found = self.contests.get(home)
        if found is None:
            states = self.sifted.ready.get(home, ()) if home else ()
            assumed = history_at_home(states, self.facts) if states else 0
            found = self._weigh(home, assumed) if assumed or not home else self.contest("")
            self.contests[home] = found
        return found

    def _weigh(self, home: str, assumed: int) -> Contest:
        assert self.offer is not None
        found: list[Weighed] = []
        facts, bounds = self.facts, self.policy.affinity
        for offered in self.offer.models:
            name = offered.model.name
            states = self.sifted.ready.get(name)
            if states is not None:
                found += weigh(offered, states, facts, self.rates, bounds, assumed=assumed if name == home else 0)
        return Contest(found, bests_of(found))


def field_of(policy: Policy, facts: Facts, snapshot: Snapshot) -> Field:
    """By the policy of the variants that the request gets."""
    if not policy.experiments:
        return survey(policy, facts, snapshot)
    assignments = assigned(policy, facts, forced=snapshot.experiments, ramps=snapshot.ramps)
    return survey(policy.arm(assignments), facts, snapshot, assignments)


def assigned(policy: Policy, facts: Facts, *, forced: Mapping[str, str], ramps: Ramps) -> tuple[Assignment, ...]:
    """The request's variants, by the route that it meets in the file's own policy. `forced` are those of experiments that are
    over, `ramps` the weights of those whose weights were changed."""
    route = matching_route(policy, facts)
    return () if route is None else enrol(policy.experiments, route.name, facts, forced=forced, ramps=ramps)


def survey(policy: Policy, facts: Facts, snapshot: Snapshot, assignments: tuple[Assignment, ...] = ()) -> Field:
    """Route, then candidates."""
    route = matching_route(policy, facts)
    fault = no_way(policy, facts, route)
    if route is None or fault is not None:
        return Field(policy=policy, facts=facts, snapshot=snapshot, assignments=assignments, fault=fault)
    taken = moved(policy, route, facts)
    asked = route.use if facts.requested == AUTO else facts.requested
    offer = offer_of(policy, route, asked, "" if taken is None else taken.model)
    sifted = sift(offer.models, facts, snapshot)
    return Field(
        policy=policy,
        facts=facts,
        snapshot=snapshot,
        assignments=assignments,
        offer=offer,
        taken=taken,
        sifted=sifted,
        fault=nobody_can(policy, offer, facts, sifted),
        rates=request_rates(offer, facts),
        contests={},
    )


def no_way(policy: Policy, facts: Facts, route: Route | None) -> Reject | None:
    """The reject of a request that leads nowhere."""
    if facts.requested != AUTO and facts.requested not in policy.models:
        return unknown_model(policy, facts)
    return Reject("no_route", "no route of the policy matches this request") if route is None else None


def matching_route(policy: Policy, facts: Facts) -> Route | None:
    """The first route that matches. A concrete name only meets routes that honour it, and is honoured without one."""
    is_concrete = facts.requested != AUTO
    for route in policy.pinning if is_concrete else policy.choosing:
        if route.matches(facts):
            return route
    return PINNED if is_concrete else None


def nobody_can(policy: Policy, offer: Offer, facts: Facts, sifted: Sifted) -> Reject | None:
    """The reject, if no candidate is left. A pinned request that its model cannot take is told so, not sent elsewhere:
    its fallbacks are for failures."""
    if not sifted.ready:
        return reject(policy.models, facts, sifted.dropped)
    if facts.requested == AUTO:
        return None
    own_fault = [drop for drop in sifted.dropped if drop.model == offer.asked and drop.filter != "healthy"]
    return reject(policy.models, facts, own_fault) if own_fault else None


def unknown_model(policy: Policy, facts: Facts) -> Reject:
    """Names what the caller may ask for, and nothing else."""
    may = [name for name in policy.models if facts.allowed_models is None or name in facts.allowed_models]
    names = ", ".join([AUTO, *may])
    return Reject("unknown_model", f"there is no model {facts.requested!r}; the models are: {names}", "model")
