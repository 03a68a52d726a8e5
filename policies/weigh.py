"""Every candidate with its terms: one expected cost for model and replica together."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from policies.affinity.ring import overloaded
from policies.catalogue import Model, Price
from policies.facts import Facts
from policies.pickers.lowest_cost import Weighed
from policies.policy import Affinity, Route
from policies.snapshot import ReplicaState
from policies.terms.affinity import affinity
from policies.terms.again import again
from policies.terms.cost import Rates, charge, expected_output, rates
from policies.terms.price import price
from policies.terms.quality import quality
from policies.terms.wait import wait


class Prefix(NamedTuple):
    """Of a prompt, at one replica: tokens that are resident, among how many prompts that wait they are shared, and tokens that
    another replica has beyond them."""

    resident: int
    shared_by: int
    missing: int


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


def history_at_home(states: tuple[ReplicaState, ...], facts: Facts) -> int:
    """Tokens that are taken to be resident where the last turn was answered and nobody can say; who leaves computes them
    again. What is known or guessed of any replica counts instead."""
    unknown = not any(state.knows_residency or state.sent_tokens or state.resident_tokens for state in states)
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
    money = price(rate, prompt_tokens, expected_output(facts.max_tokens))
    doubt = quality(exchange, chance)
    wherever, base = (("price", money), ("quality", doubt)), money.microusd + doubt.microusd
    over = overloaded([state.running for state in states], bounds.max_imbalance, bounds.spill_after)
    assumed = history_at_home(states, facts) if is_home else 0
    why = TAKEN_FOR_RESIDENT if assumed else "resident"
    held = [min(assumed or state.resident_tokens, prompt_tokens) for state in states]
    found = prefixes(states, held, over, bounds.spread_after)
    for state, is_over, prefix, slow in zip(states, over, found, slowness(states), strict=True):
        saved = affinity(exchange, rate, prefix.resident, why, prefix.shared_by)
        needless, queued = (
            again(exchange, prefix.missing),
            wait(exchange, state.queued_tokens, prompt_tokens - prefix.resident, slow),
        )
        costs = (*wherever, ("affinity", saved), ("again", needless), ("wait", queued))
        total = base + saved.microusd + needless.microusd + queued.microusd
        yield Weighed(model.name, state.replica, costs, total, state.running, is_over)


def slowness(states: Sequence[ReplicaState]) -> Sequence[float]:
    """How many times as long as the fastest each takes for the same tokens, where that is more than speeds that were measured
    differ by chance. Who was not measured yet is taken to be as fast."""
    fastest = max([state.prefill_tokens_per_s for state in states])
    if not fastest:
        return [1.0] * len(states)
    times = [fastest / (state.prefill_tokens_per_s or fastest) for state in states]
    return [time if time > ALIKE else 1.0 for time in times]


def prefixes(
    states: Sequence[ReplicaState], held: Sequence[int], over: Sequence[bool], spread_after: int
) -> list[Prefix]:
    """Where a crowd waits for the same prefix, or who is passed over, is no reason not to compute it elsewhere."""
    crowds = [state.alike if is_crowd(state, spread_after) else 0 for state in states]
    if not (any(crowds) or any(over)):
        longest = max(held)
        return [Prefix(tokens, 1, longest - tokens) for tokens in held]
    kept = [0 if crowd else tokens for crowd, tokens in zip(crowds, held, strict=True)]
    longest = max([0 if is_over else tokens for is_over, tokens in zip(over, kept, strict=True)])
    return [
        Prefix(resident=tokens, shared_by=crowd or 1, missing=max(0, longest - own))
        for tokens, own, crowd in zip(held, kept, crowds, strict=True)
    ]


def is_crowd(state: ReplicaState, spread_after: int) -> bool:
    """More than `spread_after`, and most of those who wait: in a long queue of many conversations some turns of one are
    none."""
    return state.alike > max(spread_after, state.waiting / 2)
