"""The candidates as they stand in a decision: what each costs, part by part, and why. Order and choice are not made here."""

from collections.abc import Sequence

from policies.decision import Call, Candidate, Term
from policies.facts import Facts
from policies.field import Field
from policies.offer import Offered
from policies.pickers.lowest_cost import Weighed
from policies.pickers.preference import Preference
from policies.terms.affinity import NOTHING_RESIDENT, affinity
from policies.terms.again import NOTHING_AGAIN, again
from policies.terms.cost import Cost, Rates
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


def itemised(field: Field, preference: Preference, ordered: Sequence[Call]) -> tuple[Candidate, ...]:
    """In this order."""
    facts, rates = field.facts, field.rates
    terms: dict[Call, tuple[Term, ...]] = {}
    for w in field.from_home(preference.home):
        alike = terms_of_model(w.offered, facts, rates, preference.chance)
        for _, _, _, at, call in w.stands:
            terms[call] = alike + terms_of_replica(w, at, facts, rates)
    return tuple([Candidate(call.model, call.replica, terms[call]) for call in ordered])


def named(ordered: Sequence[Call]) -> tuple[Candidate, ...]:
    """The same where nobody reads what they cost."""
    candidates = []
    for call in ordered:
        candidates.append(Candidate(call.model, call.replica))
    return tuple(candidates)


def terms_of_model(offered: Offered, facts: Facts, rates: Rates, chance: Sequence[float] | None) -> tuple[Term, ...]:
    """Alike for all replicas of it. `chance` is by tier."""
    money = price(offered.price, facts.tokens_for(offered.model.name), rates.output_tokens)
    p_good = chance[offered.tier] if chance is not None and offered.tier >= 0 else None
    return term("price", money), term("quality", quality(rates, p_good))


def terms_of_replica(w: Weighed, at: int, facts: Facts, rates: Rates) -> tuple[Term, ...]:
    rate, state, held = w.offered.price, w.states[at], w.held[at]
    why = TAKEN_FOR_RESIDENT if w.is_assumed else "resident"
    uncached = facts.tokens_for(w.offered.model.name) - held
    return (
        term("affinity", affinity(rates, rate, held, why)),
        term("again", again(rates, rate, w.most_held - held, w.crowd, line(state))),
        term("wait", wait(rates, state.queued_tokens, uncached, w.slowness[at])),
    )


def term(name: str, cost: Cost) -> Term:
    return NEUTRAL_TERMS.get(id(cost)) or Term(name, round(cost.microusd), cost.why)
