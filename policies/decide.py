"""decide(): the table of contents of routing. Pure: same values in, same decision out, byte for byte."""

from collections.abc import Sequence

import msgspec

from policies.budgets.afford import afforded
from policies.decision import Decision, Dropped
from policies.escalate.holding import NOTHING_HELD_BACK, holding
from policies.estimates import Estimate
from policies.facts import Facts
from policies.field import Field, field_of, survey
from policies.hedging.hedge import hedged
from policies.itemise import itemised, named
from policies.offer import Offer
from policies.pickers.explore import NOTHING, Drawn, explore
from policies.pickers.lowest_cost import first_of, foremost, in_order, to_be_asked
from policies.pickers.preference import Preference, known_places, prefer
from policies.policy import Policy, Route
from policies.snapshot import Snapshot
from policies.thinking import with_untold


def decide(policy: Policy, facts: Facts, estimate: Estimate, snapshot: Snapshot) -> Decision:
    """By the policy of the variants that the request gets."""
    return decide_on(field_of(policy, facts, snapshot), estimate)


def decide_on(field: Field, estimate: Estimate, *, itemises: bool = True) -> Decision:
    """The same, of a field that others may have looked at before. Without `itemises` candidates do not say what they cost, and
    everything else is as it is with it."""
    decision = decide_in(field, estimate, itemises=itemises)
    if field.snapshot.budgets:
        decision = within_budgets(field, decision, estimate)
    return msgspec.structs.replace(decision, assignments=field.assignments) if field.assignments else decision


def within_budgets(field: Field, decision: Decision, estimate: Estimate) -> Decision:
    """Where too little is left for it, a lesser model answers, or nobody."""
    facts, snapshot = field.facts, field.snapshot

    def again(lesser: Policy) -> Decision:
        return decide_by(lesser, facts, estimate, snapshot)

    return afforded(field.policy, decision, facts, snapshot.budgets, now=snapshot.now, again=again)


def decide_by(
    policy: Policy, facts: Facts, estimate: Estimate, snapshot: Snapshot, *, itemises: bool = True
) -> Decision:
    """By this policy, whatever variants the request would get."""
    return decide_in(survey(policy, facts, snapshot), estimate, itemises=itemises)


def decide_in(field: Field, estimate: Estimate, *, itemises: bool = True) -> Decision:
    """Of the candidates, by their expected cost, the order in which they are asked."""
    offer = field.offer
    if offer is None or field.fault is not None:
        return rejected(field)
    policy, route, facts = field.policy, offer.route, field.facts
    known = known_places(policy, offer, facts, field.taken, estimate.earlier)
    preference = prefer(policy, offer, field.taken, known, estimate)
    weighed = field.from_home(preference.home) if preference.home else field.weighed
    best = in_order(weighed, preference.rank, facts.prefix, field.rates, preference.chance)
    chosen = best[0].model
    drawn = draw_tier(field, route, preference, chosen) if route.explore else NOTHING
    ordered = first_of(best, drawn.model) if drawn.model else best
    asked = ordered if route.fallback is None else to_be_asked(ordered, route.fallback)
    calls = asked[: policy.resilience.attempts]
    hold, unheld = holding(policy, route, facts, field.snapshot, calls) if route.escalate else NOTHING_HELD_BACK
    decision = Decision(
        steps=tuple(calls),
        route=route.name,
        reason=why_drawn(route, drawn, chosen) if drawn.model else why(field, offer, preference, chosen),
        policy_hash=policy.hash,
        candidates=itemised(field, preference, ordered) if itemises else named(ordered),
        dropped=field.dropped,
        artefact=estimate.artefact if route.choose is not None else "",
        hold=hold,
        unheld=unheld,
        line=offer.line,
        propensity=drawn.propensity,
        instead_of=chosen if drawn.model else "",
    )
    if facts.thinking:
        decision = with_untold(decision, policy.models, facts)
    hedging = policy.resilience.hedge
    return decision if hedging is None else hedged(hedging, decision, facts, field.snapshot)


def first_choice(field: Field, offer: Offer, known: Sequence[int], estimate: Estimate) -> str:
    """The model that deciding would ask first if nothing were drawn, of a field in which somebody may answer. `known`: where in
    the ladder the conversation was."""
    preference = prefer(field.policy, offer, field.taken, known, estimate)
    weighed = field.from_home(preference.home) if preference.home else field.weighed
    first = foremost(weighed, preference.rank, field.rates, preference.chance)
    return first or in_order(weighed, preference.rank, field.facts.prefix, field.rates, preference.chance)[0].model


def draw_tier(field: Field, route: Route, preference: Preference, chosen: str) -> Drawn:
    """Whom the conversation's draw puts in place of `chosen`, on a route that explores."""
    if route.choose is None:
        return NOTHING
    among, ready, draw = route.choose.among, field.ready, field.snapshot.draw
    return explore(route.explore, among, floor=preference.floor, ready=ready, chosen=chosen, draw=draw)


def why(field: Field, offer: Offer, preference: Preference, model: str) -> str:
    """One line for a person."""
    route = offer.route
    if route.choose is None:
        asked = preference.why or ("asked for by name" if route.pins else f"route {route.name} uses it")
        is_first = preference.rank[offer.place_of(model)] == 0
        return f"{model}: {asked}" if is_first else f"{model}: fallback of route {route.name}"
    if len(field.ready) == 1:
        return f"{model}: the only candidate left"
    if preference.why:
        return f"{model}: {preference.why}"
    assert preference.chance is not None
    return f"{model}: {offer.told % tuple(preference.chance)}"


def why_drawn(route: Route, drawn: Drawn, chosen: str) -> str:
    return f"{drawn.model}: drawn, to explore {100 * route.explore:g}% of conversations; else {chosen}"


def rejected(field: Field) -> Decision:
    """A decision to answer nobody. Models that were never looked at fell with the request itself."""
    fault = field.fault
    assert fault is not None
    seen = {drop.model for drop in field.dropped}
    unseen = tuple([Dropped(name, "route", fault.message) for name in field.policy.models if name not in seen])
    return Decision(
        steps=(fault,),
        route="" if field.offer is None else field.offer.route.name,
        reason=fault.message,
        policy_hash=field.policy.hash,
        dropped=(*field.dropped, *unseen),
    )
