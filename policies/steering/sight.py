"""From a decision to what the line of its route can learn of it."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from policies.catalogue import Model
from policies.decision import Call, Decision
from policies.escalate.moving import moved
from policies.estimates import Estimate
from policies.facts import Facts
from policies.offer import price_of
from policies.policy import Choose, Policy, Route, Target
from policies.steering.window import Bill, Rise, Sighting, Sightings
from policies.targets import cheapest, climb
from policies.terms.cost import charge, expected_output

UNKNOWN = 0.5
"""The doubt where there is no estimate."""


class Decided(msgspec.Struct, frozen=True):
    """A decision with what it was made of."""

    facts: Facts
    estimate: Estimate
    decision: Decision


def sight(policy: Policy, route: Route, choose: Choose, seen: Decided, target: Target) -> Sighting | None:
    """What `seen`, which `route` decided, came to; None where it says nothing of `target`, its target or its floor."""
    choice = seen.decision.choice
    if not isinstance(choice, Call) or choice.model not in choose.among:
        return None
    estimate, charges = seen.estimate, _charges(policy, route, choose.among, seen.facts)
    chance = None if estimate.abstains else chances(choose, policy.models, estimate.p_good)
    amounts = charges if target.kind == "cost" else chance
    if amounts is None or not amounts[target.of] or not charges[target.of]:
        return None
    ladder = from_where_it_was_moved(policy, route, choose, seen.facts)
    ways: Sequence[Mapping[str, float]] = ()
    if chance is not None and not seen.decision.instead_of and choice.model in ladder:
        ways = turns_that_decide(policy, choose, estimate) if estimate.earlier else (chance,)
    doubt, of_lowest = _doubt(chance, choice.model), _doubt(chance, choose.among[0])
    if not ways:
        spent = amounts[choice.model]
        return Sighting(seen.facts.tenant, amounts[target.of], spent, (), spent, doubt, doubt, of_lowest)
    models = sorted(open_models(seen.decision, choice.model, ladder), key=charges.__getitem__)
    start, rises = _rises(models, [charges[model] / charges[target.of] for model in models], ways, amounts, chance)
    doubts = _doubt(chance, start), doubt, of_lowest
    return Sighting(seen.facts.tenant, amounts[target.of], amounts[start], rises, amounts[choice.model], *doubts)


def bill(policy: Policy, route: Route, choose: Choose, seen: Decided, *, spent: float, base: float) -> Bill | None:
    """What `seen` was charged in micro-dollars, and what the target's reference model would have charged for the answer, beside
    what its sighting has of both; None where that says nothing of a target of cost."""
    choice = seen.decision.choice
    if not base or choose.target.kind != "cost" or not isinstance(choice, Call) or choice.model not in choose.among:
        return None
    foretold = _charges(policy, route, (choose.target.of, choice.model), seen.facts)
    if not foretold[choose.target.of]:
        return None
    reckoned_base, reckoned = foretold[choose.target.of], foretold[choice.model]
    chance = None if seen.estimate.abstains else chances(choose, policy.models, seen.estimate.p_good)
    doubts = _doubt(chance, choice.model), _doubt(chance, choose.among[0])
    return Bill(seen.facts.tenant, base, spent, reckoned_base, reckoned, *doubts)


def chances(choose: Choose, models: Mapping[str, Model], p_good: Mapping[str, float]) -> Mapping[str, float] | None:
    """P(good) of each model of the ladder through its head; None when a head says nothing."""
    found: dict[str, float] = {}
    for name in choose.among:
        p = p_good.get(models[name].head or name)
        if p is None:
            return None
        found[name] = p
    return found


def _doubt(chance: Mapping[str, float] | None, model: str) -> float:
    return UNKNOWN if chance is None else 1.0 - chance[model]


def sights(
    policy: Policy, route: Route, choose: Choose, seen: Iterable[Decided], bills: Sequence[Bill] = ()
) -> Sightings:
    """What these decisions of `route` say of its target and of its floor, beside the `bills` of others."""
    decided = list(seen)
    found = [
        tuple([one for each in decided if (one := sight(policy, route, choose, each, target)) is not None])
        for target in (choose.target, choose.floor)
        if target is not None
    ]
    return Sightings(found[0], found[1] if len(found) > 1 else (), bills)


def may_escalate(policy: Policy, route: Route) -> float:
    """The share of the route's requests whose answer may be given up for a larger model's."""
    plan = policy.escalations.get(route.escalate)
    return 0.0 if plan is None or not plan.under else plan.at_most


def turns_that_decide(policy: Policy, choose: Choose, estimate: Estimate) -> Sequence[Mapping[str, float]]:
    """P(good) by model of the turns that take a conversation where it is: this one, or whichever needs most, or the first.

    As if the line had always been where it is put: solved on where its floor happens to be, a line would swing with the
    time for which floors are remembered.
    """
    turns: Sequence[Mapping[str, float]] = (*estimate.earlier, estimate.p_good)
    if policy.may_move == "freely":
        turns = turns[-1:]
    elif policy.may_move == "never":
        turns = turns[:1]
    known = [chances(choose, policy.models, p_good) for p_good in turns]
    return [chance for chance in known if chance is not None]


def from_where_it_was_moved(policy: Policy, route: Route, choose: Choose, facts: Facts) -> Sequence[str]:
    """The part of the ladder that a line may choose from: no lower than where an escalation took the conversation."""
    taken = moved(policy, route, facts)
    if taken is None or taken.model not in choose.among:
        return choose.among
    return choose.among[choose.among.index(taken.model) :]


def open_models(decision: Decision, chosen: str, ladder: Iterable[str]) -> Sequence[str]:
    """The models of the ladder that were ready to answer."""
    ready = {candidate.model for candidate in decision.candidates}
    return [model for model in ladder if model in ready or model == chosen]


def _charges(policy: Policy, route: Route, models: Iterable[str], facts: Facts) -> Mapping[str, float]:
    """Micro-dollars for this request, by model."""
    output, known = expected_output(facts.max_tokens), policy.models
    return {name: charge(price_of(route, known[name]), facts.tokens_for(name), output) for name in models}


def _rises(
    models: Sequence[str],
    costs: Sequence[float],
    ways: Sequence[Mapping[str, float]],
    amounts: Mapping[str, float],
    chance: Mapping[str, float] | None,
) -> tuple[str, tuple[Rise, ...]]:
    """The model at which a request begins, and where it rises from there; cheapest model first. The dearest of what its
    turns need counts."""
    at = 0
    moves: list[tuple[float, int]] = []
    rises: list[Rise] = []
    for turn in ways:
        p_good = [turn[model] for model in models]
        start = cheapest(costs, p_good)
        at = max(at, start)
        moves += [(move.loss, move.joined) for move in climb(costs, p_good, start)]
    first = models[at]
    for loss, to in sorted(moves):
        if to > at:
            rises.append(Rise(loss, max(0.0, amounts[models[to]] - amounts[models[at]]), _doubt(chance, models[to])))
            at = to
    return first, tuple(rises)
