"""Expected loss from an answer that is not good enough."""

from policies.terms.cost import Cost, Rates

NEUTRAL = Cost(0.0, "no estimate: neutral")


def loss(rates: Rates, p_good: float) -> float:
    """lambda_q · (1 - p_good).

    >>> loss(Rates(bad_answer=1000.0, second=1.0), 0.75)
    250.0
    """
    return rates.bad_answer * (1 - p_good)


def quality(rates: Rates, p_good: float | None) -> Cost:
    """The same with its why. Without an estimate every candidate is charged alike, so the other terms decide.

    >>> quality(Rates(bad_answer=1000.0, second=1.0), 0.75)
    Cost(microusd=250.0, why='p_good 0.75')
    """
    return NEUTRAL if p_good is None else Cost(loss(rates, p_good), f"p_good {p_good:.2f}")
