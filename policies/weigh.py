"""Every replica of a model with its terms: one expected cost for model and replica together, but for the model's chance of a
bad answer, which hangs on the estimate."""

from collections.abc import Mapping, Sequence

from policies.affinity.ring import overloaded
from policies.catalogue import Model, Price
from policies.facts import Facts
from policies.pickers.lowest_cost import Weighed
from policies.policy import Affinity, Route
from policies.snapshot import ReplicaState
from policies.terms.affinity import affinity
from policies.terms.again import again
from policies.terms.cost import PREFILL_TOKENS_PER_S, Rates, charge, expected_output, rates
from policies.terms.price import price
from policies.terms.wait import wait

ALIKE = 1.25
"""Speeds of replicas that are alike, as they are measured, differ by less."""

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


def history_at_home(states: Sequence[ReplicaState], facts: Facts) -> int:
    """Tokens that are taken to be resident where the last turn was answered and nobody can say; who leaves computes them
    again. What is known or guessed of any replica counts instead."""
    if not facts.history_tokens:
        return 0
    unknown = not any(state.knows_residency or state.sent_tokens or state.resident_tokens for state in states)
    return facts.history_tokens if unknown else 0


def weigh(
    model: Model,
    states: Sequence[ReplicaState],
    facts: Facts,
    *,
    rate: Price,
    exchange: Rates,
    bounds: Affinity,
    assumed: int = 0,
) -> list[Weighed]:
    """Each ready replica of `model`. So many tokens of the prompt are `assumed` to be resident wherever it is asked.

    What lies at a replica that is passed over is no reason not to compute it elsewhere.
    """
    prompt_tokens = facts.tokens_for(model.name)
    money = price(rate, prompt_tokens, expected_output(facts.max_tokens))
    over = overloaded([state.running for state in states], bounds.max_imbalance, bounds.spill_after)
    why = TAKEN_FOR_RESIDENT if assumed else "resident"
    held = [min(assumed or state.resident_tokens, prompt_tokens) for state in states]
    longest = max([0 if over[at] else tokens for at, tokens in enumerate(held)])
    there = [state for at, state in enumerate(states) if held[at] >= longest and not over[at]] if longest else ()
    crowd = min([crowd_at(state, bounds.spread_after) for state in there]) if there else 1
    slow = slowness(states)
    weighed = []
    for at, state in enumerate(states):
        saved = affinity(exchange, rate, held[at], why)
        needless = again(exchange, rate, longest - held[at], crowd, line(state))
        queued = wait(exchange, state.queued_tokens, prompt_tokens - held[at], slow[at])
        total = money.microusd + saved.microusd + needless.microusd + queued.microusd
        weighed.append(
            Weighed(model.name, state.replica, money, saved, needless, queued, total, state.running, over[at])
        )
    return weighed


def slowness(states: Sequence[ReplicaState]) -> Sequence[float]:
    """How many times as long as the fastest each takes for the same tokens, where that is more than speeds that were measured
    differ by chance. Who was not measured yet is taken to be as fast."""
    fastest = max([state.prefill_tokens_per_s for state in states])
    if not fastest:
        return [1.0] * len(states)
    times = [fastest / (state.prefill_tokens_per_s or fastest) for state in states]
    return [time if time > ALIKE else 1.0 for time in times]


def line(state: ReplicaState) -> float:
    """Seconds until what is queued there is computed."""
    return state.queued_tokens / (state.prefill_tokens_per_s or PREFILL_TOKENS_PER_S)


def crowd_at(state: ReplicaState, spread_after: int) -> int:
    """How many prompts under way there share the prefix, if those are more than `spread_after` and most of all: among many
    conversations some turns of one are no crowd. Else 1, the prompt that asks."""
    return state.alike if state.alike > max(spread_after, state.running / 2) else 1
