"""Expected loss from an answer that is not good enough."""

from collections.abc import Mapping

from policies.terms.cost import Cost, Rates

NEUTRAL = Cost(0.0, "no estimate: neutral")

NO_LOSSES: Mapping[str, float] = {}


def loss(rates: Rates, p_good: float | None) -> float:
    """lambda_q · (1 - p_good). Without an estimate every candidate is charged alike, so the other terms decide.

    >>> loss(Rates(bad_answer=1000.0, second=1.0), 0.75), loss(Rates(bad_answer=1000.0, second=1.0), None)
    (250.0, 0.0)
    """
    return 0.0 if p_good is None else rates.bad_answer * (1 - p_good)


def losses(rates: Rates, chance: Mapping[str, float] | None) -> Mapping[str, float]:
    """The same by model; nothing without an estimate."""
    return NO_LOSSES if chance is None else {model: loss(rates, p_good) for model, p_good in chance.items()}


def quality(rates: Rates, p_good: float | None) -> Cost:
    """The same with its why.

    >>> quality(Rates(bad_answer=1000.0, second=1.0), 0.75)
    Cost(microusd=250.0, why='p_good 0.75')
    """
    return NEUTRAL if p_good is None else Cost(loss(rates, p_good), f"p_good {p_good:.2f}")
