"""What a term returns, and the exchange rates that all terms of one request share."""

import msgspec

from policies.catalogue import Price

EXPECTED_OUTPUT_TOKENS = 300
"""E[out] of the cost function: the mean answer of chat traffic; an answer's length is not known before it is given."""

PREFILL_TOKENS_PER_S = 2_000
"""Prompt tokens that a replica of unknown speed computes in a second, which turns queued tokens into waiting time."""

SECOND_PER_REFERENCE = 0.01
"""lambda_t: a second of waiting costs one percent of what the reference model charges for the same request. Ten
seconds in a queue then shift the line between two tiers by a tenth of the dearer one, so load bends quality slightly
and never breaks it, while between replicas of one model any difference decides."""

FREE_SECOND_MICROUSD = 100.0
"""lambda_t where the reference model is free of charge."""


class Cost(msgspec.Struct, frozen=True, gc=False):
    """Micro-dollars, unrounded, with a one-line why."""

    microusd: float
    why: str


class Rates(msgspec.Struct, frozen=True, gc=False):
    """Exchange rates of one request, in micro-dollars: of one bad answer, and of one second of waiting; and how many tokens its
    answer is expected to have."""

    bad_answer: float
    second: float
    output_tokens: int = EXPECTED_OUTPUT_TOKENS


FREE = Rates(0.0, 0.0)


def charge(price: Price, prompt_tokens: int, output_tokens: int) -> float:
    """Micro-dollars for these tokens, none of them cached.

    >>> charge(Price(input=3_000_000, output=15_000_000), 1000, 300)
    7500.0
    """
    return (price.input * prompt_tokens + price.output * output_tokens) / 1_000_000


def expected_output(max_tokens: int | None) -> int:
    """Tokens that the answer is expected to have.

    >>> expected_output(None), expected_output(16)
    (300, 16)
    """
    return EXPECTED_OUTPUT_TOKENS if max_tokens is None or max_tokens > EXPECTED_OUTPUT_TOKENS else max_tokens


def rates(reference_microusd: float, loss_per_reference: float, output_tokens: int) -> Rates:
    """Of a request for which the reference model would charge `reference_microusd`."""
    second = reference_microusd * SECOND_PER_REFERENCE or FREE_SECOND_MICROUSD
    return Rates(reference_microusd * loss_per_reference, second, output_tokens)
