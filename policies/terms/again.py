"""What computing a prefix once more takes from others: everybody who waits behind it waits longer."""

from policies.terms.cost import PREFILL_TOKENS_PER_S, Cost, Rates

OTHERS_WAIT = 30.0
"""Seconds that all others are taken to wait for each second of work that need not be done. In theory 1 / (1 - load)^2 and
more: the busier a fleet, the dearer needless work. One large number does as well at every load and needs no gauge."""

NOTHING_AGAIN = Cost(0.0, "no longer prefix elsewhere")


def again(rates: Rates, missing_tokens: int) -> Cost:
    """OTHERS_WAIT · lambda_t · seconds for `missing_tokens` that another replica of the model has, and this one has not.

    >>> again(Rates(bad_answer=0.0, second=100.0), 200)
    Cost(microusd=300.0, why='200 tokens computed again, which another replica has')
    """
    if missing_tokens <= 0:
        return NOTHING_AGAIN
    seconds = missing_tokens / PREFILL_TOKENS_PER_S
    return Cost(
        OTHERS_WAIT * rates.second * seconds, f"{missing_tokens} tokens computed again, which another replica has"
    )
