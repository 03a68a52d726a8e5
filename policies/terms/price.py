"""What the tokens cost if nothing of the prompt is resident."""

from policies.catalogue import Price
from policies.terms.cost import Cost, charge


def price(rate: Price, prompt_tokens: int, output_tokens: int) -> Cost:
    """price_in · prompt + price_out · E[out].

    >>> price(Price(input=50_000, output=200_000), 1000, 300)
    Cost(microusd=110.0, why='1000 tokens in, about 300 out')
    """
    return Cost(charge(rate, prompt_tokens, output_tokens), f"{prompt_tokens} tokens in, about {output_tokens} out")
