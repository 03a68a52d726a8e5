"""What the comparison of a shadow says, in numbers and in words."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from policies.shadows.bounded import Counts, interval
from policies.shadows.evidence import Evidence, Rung
from policies.shadows.judged import Judged, preference_within

ALPHA = 0.05
"""The chance that an interval misses what it is of, at any look; divided among the rungs."""

Says = Literal["nothing_yet", "no_floor", "differs", "not_shown", "less", "worse", "better"]
"""
nothing_yet  no pair has been compared
no_floor     the primary was never asked twice: how much it differs from itself is not known
differs      the shadow differs from the primary by more than the primary from itself
not_shown    that is not shown; `excess` says how much more it may be at most
less         it differs by less than the primary from itself
worse        a judge prefers the primary's answers
better       a judge prefers the shadow's
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


def judgement(judged: Judged, judge: str, shadow: str, alpha: float = ALPHA) -> Finding:
    """What a judge says: `shadow` is how often it prefers the primary's answer, `floor` how often the shadow's, `excess` the
    one less the other. Two answers of one model would come to 0, so no floor is needed."""
    low, high = preference_within(judged, alpha)
    pairs = judged.pairs
    shares = [count / pairs if pairs else 0.0 for count in (judged.primary, judged.shadow)]
    sides = [Estimate(pairs=pairs, mean=share, low=0.0, high=1.0) for share in shares]
    excess = Estimate(pairs=pairs, mean=sides[0].mean - sides[1].mean, low=low, high=high)
    says: Says = "nothing_yet" if not pairs else "worse" if low > 0 else "better" if high < 0 else "not_shown"
    told = Finding(rung="judge", says=says, shadow=sides[0], floor=sides[1], excess=excess, words="")
    return msgspec.structs.replace(told, words=judged_words(judged, told, judge, shadow))


def judged_words(judged: Judged, told: Finding, judge: str, shadow: str) -> str:
    if not judged.pairs:
        return f"{judge} has judged nothing yet" + (
            f" ({judged.failed} times it did not answer)" if judged.failed else ""
        )
    counts = (
        f"{judge} prefers the answer in {judged.primary} of {judged.pairs} pairs, {shadow} in {judged.shadow}, finds"
        f" {judged.equal} alike, and goes by the place in {judged.split} (noise {100 * judged.noise:.0f} %)"
    )
    points = f"{100 * told.excess.mean:+.1f} points, {100 * told.excess.low:+.1f} to {100 * told.excess.high:+.1f}"
    if told.says == "not_shown":
        return f"{counts}; that either is better is not shown ({points})"
    return f"{counts}; {shadow} is {told.says} ({points})"


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
