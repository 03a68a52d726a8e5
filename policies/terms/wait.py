"""What the work queued before us costs in time."""

from policies.terms.cost import PREFILL_TOKENS_PER_S, Cost, Rates

NO_QUEUE = Cost(0.0, "no queue")


def wait(rates: Rates, queued_tokens: int, uncached_tokens: int = 0, slowness: float = 1.0) -> Cost:
    """lambda_t · wait: until the queue is done, and by how much longer our own `uncached_tokens` take than at the fastest.

    `slowness`: how many times as long as the fastest replica of the model this one takes for the same tokens.

    >>> wait(Rates(bad_answer=0.0, second=100.0), 1000)
    Cost(microusd=50.0, why='1000 tokens queued, 0.5 s')
    >>> wait(Rates(bad_answer=0.0, second=100.0), 1000, 2000, 2.0)
    Cost(microusd=200.0, why='1000 tokens queued, 2.0 s at 2.0 x the time of the fastest')
    """
    if queued_tokens <= 0 and slowness == 1.0:
        return NO_QUEUE
    seconds = (slowness * queued_tokens + (slowness - 1) * uncached_tokens) / PREFILL_TOKENS_PER_S
    told = "" if slowness == 1.0 else f" at {slowness:.1f} x the time of the fastest"
    return Cost(
        waiting(rates, queued_tokens, uncached_tokens, slowness),
        f"{queued_tokens} tokens queued, {seconds:.1f} s{told}",
    )


def waiting(rates: Rates, queued_tokens: int, uncached_tokens: int, slowness: float) -> float:
    """The same without its why."""
    return rates.second * ((slowness * queued_tokens + (slowness - 1) * uncached_tokens) / PREFILL_TOKENS_PER_S)
