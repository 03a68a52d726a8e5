"""What the comparison of a shadow says, in numbers and in words."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from policies.shadows.bounded import Counts, interval
from policies.shadows.evidence import Evidence, Rung

ALPHA = 0.05
"""The chance that an interval misses what it is of, at any look; divided among the rungs."""

Says = Literal["nothing_yet", "no_floor", "differs", "not_shown", "less"]
"""
nothing_yet  no pair has been compared
no_floor     the primary was never asked twice: how much it differs from itself is not known
differs      the shadow differs from the primary by more than the primary from itself
not_shown    that is not shown; `excess` says how much more it may be at most
less         it differs by less than the primary from itself
"""

MEANS: Mapping[str, str] = {
    "exact": "another text",
    "normalised": "another text, case and marks aside",
    "edit": "words to change",
    "structure": "another structure",
    "misshapen": "not the form that was asked for",
    "embedding": "apart in meaning",
}


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean of differences, each from 0 to 1, with an interval that holds at every look."""

    pairs: int
    mean: float
    low: float
    high: float


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One rung: the shadow from the primary, the primary from itself, and the excess in requests of which both are known."""

    rung: str
    says: Says
    shadow: Estimate
    floor: Estimate
    excess: Estimate
    words: str


def findings(evidence: Evidence, primary: str, shadow: str, alpha: float = ALPHA) -> tuple[Finding, ...]:
    """One for each rung. `primary` and `shadow` are how they are called."""
    each = alpha / max(1, len(evidence))
    return tuple([finding(name, rung, primary, shadow, each) for name, rung in sorted(evidence.items())])


def finding(name: str, rung: Rung, primary: str, shadow: str, alpha: float) -> Finding:
    told = Finding(
        rung=name,
        says="nothing_yet",
        shadow=estimate(rung.shadow, alpha),
        floor=estimate(rung.floor, alpha),
        excess=estimate(rung.excess, alpha, low=-1.0),
        words="",
    )
    says = says_of(told)
    return msgspec.structs.replace(told, says=says, words=in_words(told, says, primary, shadow))


def estimate(counts: Counts, alpha: float, low: float = 0.0) -> Estimate:
    pairs = sum(counts.values())
    mean = sum(value * count for value, count in counts.items()) / (100 * pairs) if pairs else 0.0
    bounds = interval(counts, alpha, low=low)
    return Estimate(pairs=pairs, mean=mean, low=bounds[0], high=bounds[1])


def says_of(told: Finding) -> Says:
    if not told.shadow.pairs:
        return "nothing_yet"
    if not told.excess.pairs:
        return "no_floor"
    if told.excess.low > 0:
        return "differs"
    return "less" if told.excess.high < 0 else "not_shown"


def in_words(told: Finding, says: Says, primary: str, shadow: str) -> str:
    if says == "nothing_yet":
        return f"{MEANS[told.rung]}: nothing is compared yet"
    seen = f"{MEANS[told.rung]}: {shadow} {percent(told.shadow)} of {told.shadow.pairs} pairs"
    if says == "no_floor":
        return f"{seen}; how much {primary} differs from itself is not known (noise_floor)"
    floor = f"{seen}, {primary} from itself {percent(told.floor)} of {told.floor.pairs}"
    return f"{floor}; {conclusion(told.excess, says, shadow)}"


def conclusion(excess: Estimate, says: Says, shadow: str) -> str:
    points = f"{100 * excess.mean:+.1f} points, {100 * excess.low:+.1f} to {100 * excess.high:+.1f}"
    if says == "differs":
        return f"{shadow} differs by more than chance and noise ({points})"
    if says == "less":
        return f"{shadow} differs by less than that noise ({points})"
    return f"no more than noise is shown; at most {100 * excess.high:.1f} points more ({points})"


def percent(told: Estimate) -> str:
    return f"{100 * told.mean:.1f} %"
