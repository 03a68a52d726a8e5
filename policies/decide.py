"""decide(): the table of contents of routing. Pure: same values in, same decision out, byte for byte."""

from collections.abc import Mapping, Sequence

import msgspec

from policies.budgets.afford import afforded
from policies.decision import Call, Candidate, Decision, Dropped, Reject, Term
from policies.escalate.holding import holding
from policies.estimates import Estimate
from policies.facts import Facts
from policies.field import Field, field_of, survey
from policies.hedging.hedge import hedged
from policies.pickers.explore import NOTHING, Drawn, explore
from policies.pickers.lowest_cost import NO_LOSSES, Weighed, first_of, foremost, in_order, to_be_asked
from policies.pickers.preference import Preference, prefer
from policies.policy import Policy, Route
from policies.snapshot import Snapshot
from policies.terms.affinity import NOTHING_RESIDENT
from policies.terms.again import NOTHING_AGAIN
from policies.terms.cost import Cost
from policies.terms.quality import loss, quality
from policies.terms.wait import NO_QUEUE

NEUTRAL_TERMS = {
    id(cost): Term(name, 0, cost.why)
    for name, cost in (("affinity", NOTHING_RESIDENT), ("again", NOTHING_AGAIN), ("wait", NO_QUEUE))
}
"""Of terms that have nothing to say, which are most."""


def decide(policy: Policy, facts: Facts, estimate: Estimate, snapshot: Snapshot) -> Decision:
    """By the policy of the variants that the request gets."""
    return decide_on(field_of(policy, facts, snapshot), estimate)


def decide_on(field: Field, estimate: Estimate) -> Decision:
    """The same, of a field that others may have looked at before."""
    decision = decide_in(field, estimate)
    if field.snapshot.budgets:
        decision = within_budgets(field, decision, estimate)
    return msgspec.structs.replace(decision, assignments=field.assignments) if field.assignments else decision


def within_budgets(field: Field, decision: Decision, estimate: Estimate) -> Decision:
    """Where too little is left for it, a lesser model answers, or nobody."""
    facts, snapshot = field.facts, field.snapshot

    def again(lesser: Policy) -> Decision:
        return decide_by(lesser, facts, estimate, snapshot)

    return afforded(field.policy, decision, facts, snapshot.budgets, now=snapshot.now, again=again)


def decide_by(policy: Policy, facts: Facts, estimate: Estimate, snapshot: Snapshot) -> Decision:
    """By this policy, whatever variants the request would get."""
    return decide_in(survey(policy, facts, snapshot), estimate)


def decide_in(field: Field, estimate: Estimate) -> Decision:
    """Of the candidates, by their expected cost, the order in which they are asked."""
    if field.fault is not None:
        return rejected(field, field.fault)
    policy, route = field.policy, field.route
    preference = prefer(policy, route, field.asked, field.facts, estimate)
    weighed, losses = field.candidates(preference.home), losses_of(field, preference)
    best = in_order(weighed, preference.rank, field.facts.prefix, losses)
    drawn = draw_tier(field, preference, best[0].model)
    ordered = first_of(best, drawn.model)
    calls = [Call(w.model, w.replica) for w in to_be_asked(ordered, route)[: policy.resilience.attempts]]
    hold, unheld = holding(policy, route, field.facts, field.snapshot, calls)
    decision = Decision(
        steps=tuple(calls),
        route=route.name,
        reason=why_drawn(route, drawn, best[0]) if drawn.model else why(field, preference, best[0]),
        policy_hash=policy.hash,
        candidates=recorded(field, preference, ordered),
        dropped=field.dropped,
        artefact=estimate.artefact if route.choose is not None else "",
        hold=hold,
        unheld=unheld,
        line=None if route.choose is None else route.choose.line,
        propensity=drawn.propensity,
        instead_of=best[0].model if drawn.model else "",
    )
    hedging = policy.resilience.hedge
    return decision if hedging is None else hedged(hedging, decision, field.facts, field.snapshot)


def first_choice(field: Field, estimate: Estimate) -> str:
    """The model that deciding would ask first if nothing were drawn; "" where nobody may answer."""
    if field.fault is not None:
        return ""
    preference = prefer(field.policy, field.route, field.asked, field.facts, estimate)
    weighed, losses = field.candidates(preference.home), losses_of(field, preference)
    return foremost(weighed, preference.rank, field.facts.prefix, losses)


def losses_of(field: Field, preference: Preference) -> Mapping[str, float]:
    chance, rates = preference.chance, field.rates
    return NO_LOSSES if chance is None else {model: loss(rates, p_good) for model, p_good in chance.items()}


def recorded(field: Field, preference: Preference, ordered: Sequence[Weighed]) -> tuple[Candidate, ...]:
    """The candidates as they stand in a decision: what each costs, part by part, and why."""
    chance = preference.chance or {}
    of_models: dict[str, tuple[Term, Term]] = {}
    candidates = []
    for w in ordered:
        if w.model not in of_models:
            doubt = quality(field.rates, chance.get(w.model))
            of_models[w.model] = term("price", w.price), term("quality", doubt)
        parts = term("affinity", w.affinity), term("again", w.again), term("wait", w.wait)
        candidates.append(Candidate(w.model, w.replica, (*of_models[w.model], *parts)))
    return tuple(candidates)


def term(name: str, cost: Cost) -> Term:
    return NEUTRAL_TERMS.get(id(cost)) or Term(name, round(cost.microusd), cost.why)


def draw_tier(field: Field, preference: Preference, chosen: str) -> Drawn:
    """Whom the conversation's draw puts in place of `chosen`, on a route that explores."""
    route, draw = field.route, field.snapshot.draw
    if route.choose is None or not route.explore:
        return NOTHING
    among, ready = route.choose.among, field.sifted.ready
    return explore(route.explore, among, floor=preference.floor, ready=ready, chosen=chosen, draw=draw)


def why(field: Field, preference: Preference, chosen: Weighed) -> str:
    """One line for a person."""
    model, route = chosen.model, field.route
    if route.choose is None:
        asked = preference.why or ("asked for by name" if route.pins else f"route {route.name} uses it")
        return f"{model}: {asked}" if preference.rank[model] == 0 else f"{model}: fallback of route {route.name}"
    if len(field.sifted.ready) == 1:
        return f"{model}: the only candidate left"
    if preference.why:
        return f"{model}: {preference.why}"
    chances = preference.chance or {}
    odds = ", ".join([f"{name} {chances[name]:.2f}" for name in route.choose.among if name in chances])
    return f"{model}: least expected cost for {route.choose.target}; p_good {odds}"


def why_drawn(route: Route, drawn: Drawn, best: Weighed) -> str:
    return f"{drawn.model}: drawn, to explore {100 * route.explore:g}% of conversations; else {best.model}"


def rejected(field: Field, fault: Reject) -> Decision:
    """A decision to answer nobody. Models that were never looked at fell with the request itself."""
    seen = {drop.model for drop in field.dropped}
    unseen = tuple([Dropped(name, "route", fault.message) for name in field.policy.models if name not in seen])
    return Decision(
        steps=(fault,),
        route=field.route.name,
        reason=fault.message,
        policy_hash=field.policy.hash,
        dropped=(*field.dropped, *unseen),
    )
