"""From what an answer said to a small value that a verdict, a log and a fit can hold. No text is in it."""

from collections.abc import Sequence

import msgspec

from policies.escalate.agreement import agree
from policies.escalate.numbers import final_number
from policies.escalate.reckoning import Reckoning, reckoning
from policies.escalate.refusal import declines
from policies.escalate.repetition import repeated
from policies.escalate.said import Said, Wanted
from policies.escalate.shape import misshapen
from policies.escalate.tokens import dip, quantile

FEWEST_CUT = 64
"""An answer that was stopped at fewer tokens was stopped by a bound that the client wanted short."""


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """Of the beginning of an answer, or of all of it (`whole`). `low`, `middle` and `dip` are log-probabilities: the lowest
    tenth, the median and the worst stretch; None where no probabilities are known. `comes_to` is the last number of a whole
    answer. `asked_characters` is the length of the question. `agrees`: another model came to the same; None where nobody
    was asked, or it cannot be told."""

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
    reckoning: Reckoning = Reckoning()
    comes_to: float | None = None
    asked_characters: int = 0
    agrees: bool | None = None


def signals_of(said: Said, wanted: Wanted, other: Said | None = None) -> Signals:
    """`other` is what another model answered to the same.

    >>> signals_of(Said(text="2 + 2 = 5", tokens=5, ending="stop"), Wanted()).reckoning.false_steps
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
        reckoning=reckoning(wanted.question, said.text),
        comes_to=final_number(said.text) if said.whole else None,
        asked_characters=len(wanted.question),
        agrees=None if other is None else agree(said, other),
    )


def doubts(logprobs: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Lowest tenth, median, worst stretch."""
    if not logprobs:
        return None, None, None
    return quantile(logprobs, 0.1), quantile(logprobs, 0.5), dip(logprobs)
