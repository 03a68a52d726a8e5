"""Who may answer a request, and what each would cost: all of a decision that does not hang on how hard the request is.

So whoever decides on several estimates of one request (both ends of a quick one, then the one that is recorded) looks at the
world once.
"""

from collections.abc import Mapping, Sequence

import msgspec

from policies.candidates.reject import reject
from policies.candidates.sift import Ready, sift
from policies.decision import Dropped, Reject
from policies.escalate.moving import Moved, moved
from policies.experiments.enrol import Ramps, enrol
from policies.experiments.plan import Assignment
from policies.facts import AUTO, Facts
from policies.offer import Offer, offer_of
from policies.pickers.lowest_cost import Weighed
from policies.policy import PINNED, Policy, Route
from policies.snapshot import Snapshot
from policies.terms.cost import FREE, Rates
from policies.weigh import history_at_home, request_rates, weigh


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """`policy` is that of the variants that the request gets, `offer` None where no route was met, `taken` whom the request is
    for before anybody is asked. With a `fault` nobody may answer. `weighed` is everybody that may, a model each."""

    policy: Policy
    facts: Facts
    snapshot: Snapshot
    assignments: tuple[Assignment, ...] = ()
    offer: Offer | None = None
    taken: Moved | None = None
    ready: Ready = {}
    dropped: tuple[Dropped, ...] = ()
    fault: Reject | None = None
    rates: Rates = FREE
    weighed: Sequence[Weighed] = ()

    def from_home(self, home: str) -> Sequence[Weighed]:
        """The same where the conversation's last answer came from the model `home`, or from nobody that is known ("")."""
        states = self.ready.get(home) if home else None
        assumed = history_at_home(states, self.facts) if states else 0
        if not assumed:
            return self.weighed
        facts, rates, bounds = self.facts, self.rates, self.policy.affinity
        return [
            weigh(w.offered, w.states, facts, rates, bounds, assumed) if w.offered.model.name == home else w
            for w in self.weighed
        ]


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
    """Route, then candidates, then what each of them costs."""
    route = matching_route(policy, facts)
    if route is None or (facts.requested != AUTO and facts.requested not in policy.models):
        fault = no_way(policy, facts)
        return Field(policy=policy, facts=facts, snapshot=snapshot, assignments=assignments, fault=fault)
    taken = moved(policy, route, facts)
    asked = route.use if facts.requested == AUTO else facts.requested
    offer = offer_of(policy, route, asked, "" if taken is None else taken.model)
    ready, dropped = sift(offer.models, facts, snapshot)
    rates, bounds, weighed = request_rates(offer, facts), policy.affinity, []
    for offered in offer.models:
        states = ready.get(offered.model.name)
        if states is not None:
            weighed.append(weigh(offered, states, facts, rates, bounds))
    return Field(
        policy=policy,
        facts=facts,
        snapshot=snapshot,
        assignments=assignments,
        offer=offer,
        taken=taken,
        ready=ready,
        dropped=dropped + offer.outside,
        fault=nobody_can(policy, offer, facts, ready, dropped),
        rates=rates,
        weighed=weighed,
    )


def no_way(policy: Policy, facts: Facts) -> Reject:
    """The reject of a request that leads nowhere."""
    if facts.requested == AUTO:
        return Reject("no_route", "no route of the policy matches this request")
    return unknown_model(policy, facts)


def matching_route(policy: Policy, facts: Facts) -> Route | None:
    """The first route that matches. A concrete name only meets routes that honour it, and is honoured without one."""
    is_concrete = facts.requested != AUTO
    for route in policy.pinning if is_concrete else policy.choosing:
        if route.matches(facts):
            return route
    return PINNED if is_concrete else None


def nobody_can(policy: Policy, offer: Offer, facts: Facts, ready: Ready, dropped: tuple[Dropped, ...]) -> Reject | None:
    """The reject, if no candidate is left. A pinned request that its model cannot take is told so, not sent elsewhere:
    its fallbacks are for failures."""
    if not ready:
        return reject(policy.models, facts, dropped)
    if facts.requested == AUTO:
        return None
    own_fault = [drop for drop in dropped if drop.model == offer.asked and drop.filter != "healthy"]
    return reject(policy.models, facts, own_fault) if own_fault else None


def unknown_model(policy: Policy, facts: Facts) -> Reject:
    """Names what the caller may ask for, and nothing else."""
    may = [name for name in policy.models if facts.allowed_models is None or name in facts.allowed_models]
    names = ", ".join([AUTO, *may])
    return Reject("unknown_model", f"there is no model {facts.requested!r}; the models are: {names}", "model")
