"""From a decision to what the line of its route can learn of it."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.facts import Facts
from policies.pickers.preference import Preference, prefer
from policies.policy import Choose, Policy, Route, Target
from policies.steering.window import Rise, Sighting, Sightings
from policies.targets import cheapest, climb
from policies.terms.cost import charge, expected_output
from policies.weigh import price_of


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
    preference = prefer(policy, route, route.use, seen.estimate)
    charges = _charges(policy, route, choose, seen.facts)
    amounts = charges if target.kind == "cost" else preference.chance
    if amounts is None or not amounts[target.of] or not charges[target.of]:
        return None
    models = open_models(choose, seen.decision, preference, choice.model)
    costs = [charges[model] / charges[target.of] for model in models]
    start, rises = _rises(models, costs, preference.chance or {}, amounts)
    return Sighting(seen.facts.tenant, amounts[target.of], amounts[start], rises, amounts[choice.model])


def sights(policy: Policy, route: Route, choose: Choose, seen: Iterable[Decided]) -> Sightings:
    """What these decisions of `route` say of its target and of its floor."""
    decided = list(seen)
    found = [
        tuple([one for each in decided if (one := sight(policy, route, choose, each, target)) is not None])
        for target in (choose.target, choose.floor)
        if target is not None
    ]
    return Sightings(*found)


def open_models(choose: Choose, decision: Decision, preference: Preference, chosen: str) -> Sequence[str]:
    """The models among which the line decided; the chosen one alone where it had no say."""
    if preference.chance is None:
        return (chosen,)
    ready = {candidate.model for candidate in decision.candidates}
    rank = preference.rank
    return [model for model in choose.among if model in ready and rank[model] == rank[chosen]]


def _charges(policy: Policy, route: Route, choose: Choose, facts: Facts) -> Mapping[str, float]:
    """Micro-dollars for this request, by model of the ladder."""
    output = expected_output(facts.max_tokens)
    prices = {name: price_of(route, policy.models[name]) for name in choose.among}
    return {name: charge(price, facts.tokens_for(name), output) for name, price in prices.items()}


def _rises(
    models: Sequence[str], costs: Sequence[float], chance: Mapping[str, float], amounts: Mapping[str, float]
) -> tuple[str, tuple[Rise, ...]]:
    """The model at which a request begins, and where it rises from there."""
    chances = [chance.get(model, 0.0) for model in models]
    start = cheapest(costs, chances)
    moves = climb(costs, chances, start)
    return models[start], tuple(
        [Rise(move.loss, amounts[models[move.joined]] - amounts[models[move.left]]) for move in moves]
    )
