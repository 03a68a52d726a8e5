"""Every candidate with its terms: one expected cost for model and replica together."""

from collections.abc import Iterator, Mapping

from policies.affinity.ring import load, overloaded
from policies.catalogue import Model, Price
from policies.decision import Candidate, Term
from policies.facts import Facts
from policies.pickers.lowest_cost import Weighed
from policies.policy import Affinity, Route
from policies.snapshot import ReplicaState
from policies.terms.affinity import affinity
from policies.terms.cost import Rates, charge, expected_output, rates
from policies.terms.price import price
from policies.terms.quality import quality
from policies.terms.wait import wait

TAKEN_FOR_RESIDENT = "taken to be resident: the last turn was here"


def request_rates(route: Route, models: Mapping[str, Model], asked: str, facts: Facts) -> Rates:
    """Exchange rates of this request, from what the reference model would charge for it."""
    choose = route.choose
    name = asked if choose is None else choose.target.of
    reference = charge(price_of(route, models[name]), facts.tokens_for(name), expected_output(facts.max_tokens))
    return rates(reference, 0.0 if choose is None else choose.loss_per_reference)


def price_of(route: Route, model: Model) -> Price:
    """The price that this route reckons with: a stand-in where the ladder has none."""
    return model.price if route.choose is None else route.choose.prices.get(model.name, model.price)


def history_at_home(states: tuple[ReplicaState, ...], facts: Facts) -> int:
    """Tokens that are taken to be resident where the last turn was answered and nobody can say; who leaves computes them
    again. What is known or guessed of any replica counts instead."""
    unknown = not any(state.knows_residency or state.resident_tokens for state in states)
    return facts.history_tokens if unknown else 0


def weigh(
    model: Model,
    states: tuple[ReplicaState, ...],
    facts: Facts,
    *,
    rate: Price,
    chance: float | None,
    exchange: Rates,
    bounds: Affinity,
    is_home: bool = False,
) -> Iterator[Weighed]:
    """Each ready replica of `model`. `is_home`: by its history, the conversation's last answer came from this model."""
    prompt_tokens = facts.tokens_for(model.name)
    alike = (
        ("price", price(rate, prompt_tokens, expected_output(facts.max_tokens))),
        ("quality", quality(exchange, chance)),
    )
    loads = [load(state) for state in states]
    over = overloaded(loads, bounds.max_imbalance, bounds.spill_after)
    assumed = history_at_home(states, facts) if is_home else 0
    for state, work, is_over in zip(states, loads, over, strict=True):
        resident = min(assumed or state.resident_tokens, prompt_tokens)
        costs = (
            *alike,
            ("affinity", affinity(exchange, rate, resident, TAKEN_FOR_RESIDENT if assumed else "resident")),
            ("wait", wait(exchange, state.queued_tokens)),
        )
        terms = tuple([Term(name, round(cost.microusd), cost.why) for name, cost in costs])
        total = sum([cost.microusd for _, cost in costs])
        yield Weighed(Candidate(model.name, state.replica, terms), total, work, is_over)
