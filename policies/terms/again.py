"""What computing a prefix once more takes from others, who wait longer behind it; and what it gives to a crowd."""

from policies.catalogue import Price
from policies.terms.affinity import worth
from policies.terms.cost import PREFILL_TOKENS_PER_S, Cost, Rates

OTHERS_WAIT = 12.0
"""Seconds that all others are taken to wait for each second of work that need not be done, where nobody stands in line."""

WAIT_IN_LINE = 10.0
"""And as many more for each second that the line is long there: all who stand in it wait longer, and so do those who come
before it is gone. In theory arrivals per second / (1 - load)."""

NOTHING_AGAIN = Cost(0.0, "no longer prefix elsewhere")


def again(rates: Rates, rate: Price, missing_tokens: int, crowd: int = 1, line_s: float = 0.0) -> Cost:
    """(OTHERS_WAIT + WAIT_IN_LINE · line) · lambda_t · seconds for `missing_tokens` that another replica of the model has, and
    this one has not. `line_s`: how long a prompt waits here before its turn.

    Where a `crowd` of prompts is under way that all begin so, it is no needless work: computed here once, it serves as many.
    Then all of its worth is given back but the share of one of them.

    >>> rates, price = Rates(bad_answer=0.0, second=100.0), Price()
    >>> again(rates, price, 200)
    Cost(microusd=120.0, why='200 tokens computed again, which another replica has')
    >>> again(rates, price, 200, line_s=2.0).microusd
    320.0
    >>> again(rates, price, 200, crowd=5)
    Cost(microusd=-8.0, why='200 tokens computed once more, for 5 prompts that begin so')
    """
    if missing_tokens <= 0:
        return NOTHING_AGAIN
    told = (
        f"{missing_tokens} tokens computed once more, for {crowd} prompts that begin so"
        if crowd > 1
        else f"{missing_tokens} tokens computed again, which another replica has"
    )
    return Cost(needless(rates, rate, missing_tokens, crowd, line_s), told)


def needless(rates: Rates, rate: Price, missing_tokens: int, crowd: int, line_s: float) -> float:
    """The same without its why."""
    if crowd > 1:
        return -(worth(rates, rate, missing_tokens) * (1 - 1 / crowd))
    seconds = (OTHERS_WAIT + WAIT_IN_LINE * line_s) * missing_tokens / PREFILL_TOKENS_PER_S
    return rates.second * seconds
