"""How likely each model answers well, as a classifier sees it; and the sample that its thresholds are solved on."""

from collections.abc import Callable, Collection, Mapping
from typing import Literal, NamedTuple

import msgspec

Stage = Literal["", "quick", "full"]

Ends = tuple[Mapping[str, float], Mapping[str, float]]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Calibrated chances for one conversation.

    `p_good` maps a head of the artefact ("small", "large") to P(a model of that head answers well) for the
    conversation as it stands. `earlier` holds the same for each shorter prefix of the conversation that ended in a
    turn of the user, oldest first: a tier that was needed once is kept, without any state on the server.
    `abstains` is the reason why there is no estimate, or "". `stage` tells whether the quick embedder sufficed for the
    conversation as it stands or the full one was asked; what the quick one left open then lay between the two `ends` (the
    lower tiers at their best, and at their worst), or would have. `language` is that of the newest turn which tells one, or
    its script where several languages share it; also where there is no estimate, and "" where none does.
    """

    p_good: Mapping[str, float] = {}
    earlier: tuple[Mapping[str, float], ...] = ()
    abstains: str = ""
    artefact: str = ""
    took_us: int = 0
    stage: Stage = ""
    ends: Ends | None = None
    language: str = ""


class Span(NamedTuple):
    """A quick estimate at both ends of what it may be off by: the lower tiers at their best, and at their worst."""

    low: Estimate
    high: Estimate


Unsettled = Callable[[Span], Collection[int]]
"""The prefixes of a conversation, by place and the whole as its last, for which a quick estimate does not suffice."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Held-out prompts on which thresholds are solved: for each head, P(good) of every prompt, aligned by position."""

    p_good: Mapping[str, tuple[float, ...]]
    artefact: str = ""

    def __len__(self) -> int:
        return len(next(iter(self.p_good.values()), ()))
