"""What the resident part of the prompt saves, in money and in time."""

from policies.catalogue import Price
from policies.terms.cost import PREFILL_TOKENS_PER_S, Cost, Rates

NOTHING_RESIDENT = Cost(0.0, "no prefix resident")


def affinity(rates: Rates, rate: Price, resident_tokens: int, why: str = "resident", shared_by: int = 1) -> Cost:
    """-((price_in - price_cached) · cached + lambda_t · seconds that computing them again would take) / shared_by.

    `shared_by`: as many prompts wait there for the same prefix; computed once more elsewhere, it serves them all.

    >>> affinity(Rates(bad_answer=0.0, second=100.0), Price(input=50_000, cached_input=10_000), 2000)
    Cost(microusd=-180.0, why='2000 tokens resident')
    """
    if resident_tokens <= 0:
        return NOTHING_RESIDENT
    money = (rate.input - rate.cached_input) * resident_tokens / 1_000_000
    seconds = resident_tokens / PREFILL_TOKENS_PER_S
    told = f"{resident_tokens} tokens {why}" + (f", where {shared_by} such prompts wait" if shared_by > 1 else "")
    return Cost(-(money + rates.second * seconds) / shared_by, told)
