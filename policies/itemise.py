"""The candidates as they stand in a decision: what each costs, part by part, and why. Order and choice are not made here."""

from collections.abc import Mapping, Sequence

from policies.decision import Candidate, Term
from policies.facts import Facts
from policies.field import Field
from policies.offer import Offered
from policies.pickers.lowest_cost import Weighed
from policies.pickers.preference import Preference
from policies.terms.affinity import NOTHING_RESIDENT, affinity
from policies.terms.again import NOTHING_AGAIN, again
from policies.terms.cost import Cost, Rates, expected_output
from policies.terms.price import price
from policies.terms.quality import quality
from policies.terms.wait import NO_QUEUE, wait
from policies.weigh import line

TAKEN_FOR_RESIDENT = "taken to be resident: the last turn was here"

NEUTRAL_TERMS = {
    id(cost): Term(name, 0, cost.why)
    for name, cost in (("affinity", NOTHING_RESIDENT), ("again", NOTHING_AGAIN), ("wait", NO_QUEUE))
}
"""Of terms that have nothing to say, which are most."""


def itemised(field: Field, preference: Preference, ordered: Sequence[Weighed]) -> tuple[Candidate, ...]:
    """In this order."""
    chance = preference.chance or {}
    of_models: dict[str, tuple[Term, ...]] = {}
    candidates = []
    for w in ordered:
        if w.model not in of_models:
            of_models[w.model] = terms_of_model(w.offered, field.facts, field.rates, chance)
        terms = of_models[w.model] + terms_of_replica(w, field.facts, field.rates)
        candidates.append(Candidate(w.model, w.replica, terms))
    return tuple(candidates)


def named(ordered: Sequence[Weighed]) -> tuple[Candidate, ...]:
    """The same where nobody reads what they cost."""
    return tuple([Candidate(w.model, w.replica) for w in ordered])


def terms_of_model(offered: Offered, facts: Facts, rates: Rates, chance: Mapping[str, float]) -> tuple[Term, ...]:
    """Alike for all replicas of it."""
    name = offered.model.name
    money = price(offered.price, facts.tokens_for(name), expected_output(facts.max_tokens))
    return term("price", money), term("quality", quality(rates, chance.get(name)))


def terms_of_replica(w: Weighed, facts: Facts, rates: Rates) -> tuple[Term, ...]:
    rate, state = w.offered.price, w.state
    why = TAKEN_FOR_RESIDENT if w.is_assumed else "resident"
    uncached = facts.tokens_for(w.model) - w.held
    return (
        term("affinity", affinity(rates, rate, w.held, why)),
        term("again", again(rates, rate, w.missing, w.crowd, line(state))),
        term("wait", wait(rates, state.queued_tokens, uncached, w.slowness)),
    )


def term(name: str, cost: Cost) -> Term:
    return NEUTRAL_TERMS.get(id(cost)) or Term(name, round(cost.microusd), cost.why)
