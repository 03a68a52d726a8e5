"""Every replica of a model with its terms: one expected cost for model and replica together, but for the model's chance of a
bad answer, which hangs on the estimate."""

from collections.abc import Sequence

from policies.affinity.ring import overloaded
from policies.decision import Call
from policies.facts import Facts
from policies.offer import Offer, Offered
from policies.pickers.lowest_cost import Stand, Weighed
from policies.policy import Affinity
from policies.snapshot import ReplicaState
from policies.terms.affinity import worth
from policies.terms.again import needless
from policies.terms.cost import PREFILL_TOKENS_PER_S, Rates, charge, expected_output, rates
from policies.terms.wait import waiting

ALIKE = 1.25
"""Speeds of replicas that are alike, as they are measured, differ by less."""


def request_rates(offer: Offer, facts: Facts) -> Rates:
    """Exchange rates of this request, from what the reference model would charge for it."""
    reference = offer.reference
    tokens, output = facts.tokens_for(reference.model.name), expected_output(facts.max_tokens)
    return rates(charge(reference.price, tokens, output), offer.loss, output)


def history_at_home(states: Sequence[ReplicaState], facts: Facts) -> int:
    """Tokens that are taken to be resident where the last turn was answered and nobody can say; who leaves computes them
    again. What is known or guessed of any replica counts instead."""
    if not facts.history_tokens:
        return 0
    unknown = not any(state.knows_residency or state.sent_tokens or state.resident_tokens for state in states)
    return facts.history_tokens if unknown else 0


def weigh(  # noqa: PLR0917  what is asked of whom, and by which rates
    offered: Offered, states: Sequence[ReplicaState], facts: Facts, exchange: Rates, bounds: Affinity, assumed: int = 0
) -> Weighed:
    """The ready replicas of a model. So many tokens of the prompt are `assumed` to be resident wherever it is asked."""
    rate, prompt_tokens = offered.price, facts.tokens_for(offered.model.name)
    money = charge(rate, prompt_tokens, exchange.output_tokens)
    over, slow, held, is_shared = compared(states, prompt_tokens, bounds, assumed)
    most, crowd = (held[0], 1) if is_shared else best_held(states, held, over, bounds.spread_after)
    calls = offered.calls if len(offered.calls) == len(states) else calls_of(offered, states)
    stands: list[Stand] = []
    best, at = None, 0
    for state in states:
        total, here, slower, queued = money, held[at], slow[at], state.queued_tokens
        if here > 0:
            total -= worth(exchange, rate, here)
        if most > here:
            total += needless(exchange, rate, most - here, crowd, line(state))
        if queued > 0 or slower != 1.0:
            total += waiting(exchange, queued, prompt_tokens - here, slower)
        stand = over[at], total, state.running, at, calls[at]
        stands.append(stand)
        best, at = stand if best is None or stand < best else best, at + 1
    assert best is not None
    return Weighed(offered, states, stands, held, slow, most, crowd, assumed > 0, best)


def calls_of(offered: Offered, states: Sequence[ReplicaState]) -> Sequence[Call]:
    """That ask these replicas, where those are not all that are listed."""
    return [Call(offered.model.name, state.replica) for state in states]


Compared = tuple[Sequence[bool], Sequence[float], Sequence[int], bool]


def compared(states: Sequence[ReplicaState], prompt_tokens: int, bounds: Affinity, assumed: int) -> Compared:
    """Of each replica, beside the others: is it overloaded, how many times as long as the fastest does it take, and how many
    tokens of the prompt does it hold; and whether all of them hold as many."""
    least = most = states[0].running
    fastest, slowest, is_shared = 0.0, 0.0, True
    held: list[int] = []
    for state in states:
        running, speed, tokens = state.running, state.prefill_tokens_per_s, assumed or state.resident_tokens
        here = tokens if tokens < prompt_tokens else prompt_tokens
        if held and here != held[0]:
            is_shared = False
        held.append(here)
        if running > most:
            most = running
        elif running < least:
            least = running
        if speed > fastest:
            fastest, slowest = speed, slowest or speed
        elif speed and speed < slowest:
            slowest = speed
    is_uneven = most - least > bounds.spill_after
    over = overloaded([s.running for s in states], bounds.max_imbalance, bounds.spill_after) if is_uneven else None
    slow = slowness(states) if slowest and fastest / slowest > ALIKE else None
    count = len(states)
    return over or (False,) * count, slow or (1.0,) * count, held, is_shared


def best_held(
    states: Sequence[ReplicaState], held: Sequence[int], over: Sequence[bool], spread_after: int
) -> tuple[int, int]:
    """The most tokens of the prompt that one replica holds, and the crowd at each that holds as many. What lies at a replica
    that is passed over is no reason not to compute it elsewhere."""
    longest, crowd, at = 0, 1, 0
    for tokens in held:
        if tokens and tokens >= longest and not over[at]:
            here = crowd_at(states[at], spread_after)
            if tokens > longest or here < crowd:
                longest, crowd = tokens, here
        at += 1  # noqa: SIM113  enumerate takes as long as the loop
    return longest, crowd


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
    alike = state.alike
    return alike if alike > spread_after and alike > state.running / 2 else 1
