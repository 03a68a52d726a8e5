"""What the work queued before us costs in time."""

from policies.terms.cost import PREFILL_TOKENS_PER_S, Cost, Rates

NO_QUEUE = Cost(0.0, "no queue")


def wait(rates: Rates, queued_tokens: int) -> Cost:
    """lambda_t · wait.

    >>> wait(Rates(bad_answer=0.0, second=100.0), 1000)
    Cost(microusd=50.0, why='1000 tokens queued, 0.5 s')
    """
    if queued_tokens <= 0:
        return NO_QUEUE
    seconds = queued_tokens / PREFILL_TOKENS_PER_S
    return Cost(rates.second * seconds, f"{queued_tokens} tokens queued, {seconds:.1f} s")
