"""What the resident part of the prompt saves, in money and in time."""

from policies.catalogue import Price
from policies.terms.cost import PREFILL_TOKENS_PER_S, Cost, Rates

NOTHING_RESIDENT = Cost(0.0, "no prefix resident")


def affinity(rates: Rates, rate: Price, resident_tokens: int, why: str = "resident") -> Cost:
    """-((price_in - price_cached) · cached + lambda_t · seconds that computing them again would take).

    >>> affinity(Rates(bad_answer=0.0, second=100.0), Price(input=50_000, cached_input=10_000), 2000)
    Cost(microusd=-180.0, why='2000 tokens resident')
    """
    if resident_tokens <= 0:
        return NOTHING_RESIDENT
    return Cost(-worth(rates, rate, resident_tokens), f"{resident_tokens} tokens {why}")


def worth(rates: Rates, rate: Price, tokens: int) -> float:
    """The same without its sign and its why: what is saved where so many tokens need not be computed."""
    money = (rate.input - rate.cached_input) * tokens / 1_000_000
    return money + rates.second * tokens / PREFILL_TOKENS_PER_S
