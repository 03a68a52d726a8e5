"""What a judge says of pairs of answers: which is better, asked in both orders, so that its taste for a place cancels."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from policies.shadows.bounded import Counts, interval

Choice = Literal["first", "second", "equal"]
"""What a judge may say of two answers that it is shown one after the other."""

Preferred = Literal["primary", "shadow", "equal", "split"]
"""What it says of the pair. split: with the answers in the other order it says something else, so it says nothing."""

SEEN_AS: Mapping[tuple[Choice, Choice], Preferred] = {
    ("first", "second"): "primary",
    ("second", "first"): "shadow",
    ("equal", "equal"): "equal",
}
"""By what it says with the primary's answer first, and with it second."""


IN_PERCENT: Mapping[Preferred, int] = {"primary": 100, "shadow": -100, "equal": 0, "split": 0}
"""How much better the primary's answer is."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """How often the judge preferred whose answer; `failed`: it did not keep to the question, or did not answer."""

    primary: int = 0
    shadow: int = 0
    equal: int = 0
    split: int = 0
    failed: int = 0

    @property
    def pairs(self) -> int:
        return self.primary + self.shadow + self.equal + self.split

    @property
    def noise(self) -> float:
        """The share of pairs of which it says one thing in one order and another in the other."""
        return self.split / self.pairs if self.pairs else 0.0


def preferred(forwards: Choice, backwards: Choice) -> Preferred:
    """
    >>> preferred("first", "second"), preferred("first", "first"), preferred("equal", "second")
    ('primary', 'split', 'split')
    """
    return SEEN_AS.get((forwards, backwards), "split")


def counted(judged: Judged, found: Preferred | None) -> Judged:
    """With one more pair; None where the judge failed.

    >>> counted(Judged(), None).failed
    1
    """
    name = found or "failed"
    return msgspec.structs.replace(judged, **{name: getattr(judged, name) + 1})


def preference(judged: Judged) -> Counts:
    """In percent: 100 where the primary's answer is better, -100 where the shadow's is; where the judge does not know, 0."""
    found = {100: judged.primary, 0: judged.equal + judged.split, -100: judged.shadow}
    return {value: times for value, times in found.items() if times}


def preference_within(judged: Judged, alpha: float) -> tuple[float, float]:
    """How much more often the primary's answer is better, at every look with chance 1 - alpha. Were both models the same it
    would be 0, whatever the judge's taste: that needs no second answer."""
    return interval(preference(judged), alpha, low=-1.0)
