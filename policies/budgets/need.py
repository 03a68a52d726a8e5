"""What a request may come to, before anybody knows: what is set aside for it."""

from typing import NamedTuple

from policies.budgets.plan import Budget
from policies.catalogue import Model, Price
from policies.facts import Facts
from policies.terms.cost import charge, expected_output


class Use(NamedTuple):
    """Of one call, or of all calls of a request. `tokens` are prompt and output together."""

    tokens: int = 0
    microusd: int = 0

    def of(self, budget: Budget) -> int:
        """In the unit of `budget`."""
        return self.tokens if budget.unit == "tokens" else self.microusd

    def plus(self, other: "Use") -> "Use":
        return Use(self.tokens + other.tokens, self.microusd + other.microusd)

    def beyond(self, other: "Use") -> "Use":
        """What it has more than `other`, of each.

        >>> Use(5, 1).beyond(Use(3, 2))
        Use(tokens=2, microusd=0)
        """
        return Use(max(0, self.tokens - other.tokens), max(0, self.microusd - other.microusd))


def output_tokens(model: Model, facts: Facts) -> int:
    """Of all answers that are asked for: as many as the client allows, else as many as answers have on average.

    >>> output_tokens(Model(name="m"), Facts(max_tokens=2000, choices=2)), output_tokens(Model(name="m"), Facts())
    (4000, 300)
    """
    if "embeddings" in facts.needs:
        return 0
    asked = expected_output(None) if facts.max_tokens is None else facts.max_tokens
    most = asked if model.fits.output is None else min(asked, model.fits.output)
    return most * facts.choices


def need(model: Model, facts: Facts) -> Use:
    """What asking `model` once may come to, with nothing of the prompt in its cache.

    >>> from policies.catalogue import Price
    >>> need(Model(name="m", price=Price(input=1_000_000, output=2_000_000)), Facts(prompt_tokens=10, max_tokens=5))
    Use(tokens=15, microusd=20)
    """
    prompt, output = facts.tokens_for(model.name), output_tokens(model, facts)
    price = model.price
    dearest = Price(input=max(price.input, price.cached_input, price.cache_write or 0), output=price.output)
    return Use(prompt + output, -int(-charge(dearest, prompt, output) // 1))
