"""From what an answer said to a small value that a verdict, a log and a fit can hold. No text is in it."""

from collections.abc import Sequence

import msgspec

from policies.escalate.numbers import ends_in_a_fraction
from policies.escalate.refusal import declines
from policies.escalate.repetition import repeated
from policies.escalate.said import Said, Wanted
from policies.escalate.shape import misshapen
from policies.escalate.sums import false_sums
from policies.escalate.tokens import dip, quantile

FEWEST_CUT = 64
"""An answer that was stopped at fewer tokens was stopped by a bound that the client wanted short."""


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """Of the beginning of an answer, or of all of it (`whole`). `low`, `middle` and `dip` are log-probabilities: the lowest
    tenth, the median and the worst stretch; None where no probabilities are known."""

    whole: bool
    tokens: int
    characters: int
    low: float | None = None
    middle: float | None = None
    dip: float | None = None
    empty: bool = False
    refusal: bool = False
    repetition: float = 0.0
    cut: bool = False
    misshapen: bool = False
    false_sums: int = 0
    fraction: bool = False


def signals_of(said: Said, wanted: Wanted) -> Signals:
    """
    >>> signals_of(Said(text="2 + 2 = 5", tokens=5, ending="stop"), Wanted()).false_sums
    1
    """
    low, middle, worst = doubts(said.logprobs)
    return Signals(
        whole=said.whole,
        tokens=said.tokens,
        characters=len(said.text),
        low=low,
        middle=middle,
        dip=worst,
        empty=said.whole and not said.text.strip() and not said.calls,
        refusal=said.declined or said.ending == "content_filter" or declines(said.text),
        repetition=repeated(said.text),
        cut=said.ending == "length" and said.tokens >= FEWEST_CUT,
        misshapen=misshapen(said, wanted),
        false_sums=false_sums(said.text),
        fraction=said.whole and ends_in_a_fraction(said.text),
    )


def doubts(logprobs: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Lowest tenth, median, worst stretch."""
    if not logprobs:
        return None, None, None
    return quantile(logprobs, 0.1), quantile(logprobs, 0.5), dip(logprobs)
