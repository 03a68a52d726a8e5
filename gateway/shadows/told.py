"""One shadow as it is told of: what became of what it drew, what it cost, and a verdict for each rung."""

from collections.abc import Mapping

import msgspec

from gateway.shadows.chapter import Chapter
from policies.shadows.verdict import ALPHA, Finding, findings, judgement

PRIMARY = "the answer"


class ToldShadow(msgspec.Struct, frozen=True, kw_only=True):
    """Money in micro-dollars: of this day, its cap (None: nothing is charged), of all time. `pair_microusd` and `pair_ms` are
    means of compared pairs, the primary's before the shadow's; None before there are any."""

    shadow: str
    to: str
    begun_at: float
    at: float
    compared: int
    twice: int
    results: Mapping[str, int]
    taken_microusd: int
    cap_microusd: int | None
    microusd: int
    pair_microusd: tuple[float, float] | None
    pair_ms: tuple[float, float] | None
    findings: tuple[Finding, ...]
    words: str


def told_of(chapter: Chapter) -> ToldShadow:
    """Reckons the intervals: up to a quarter of a second for a rung with many different values."""
    alpha = ALPHA / (2 if chapter.judge else 1)
    found = findings(chapter.evidence, PRIMARY, chapter.to, alpha)
    judged = (judgement(chapter.judged, chapter.judge, chapter.to, alpha),) if chapter.judge else ()
    pairs = chapter.compared
    return ToldShadow(
        shadow=chapter.name,
        to=chapter.to,
        begun_at=chapter.begun_at,
        at=chapter.at,
        compared=pairs,
        twice=chapter.twice,
        results=chapter.results,
        taken_microusd=chapter.taken_microusd,
        cap_microusd=chapter.cap_microusd,
        microusd=chapter.microusd,
        pair_microusd=(chapter.primary_microusd / pairs, chapter.shadow_microusd / pairs) if pairs else None,
        pair_ms=(chapter.primary_ms / pairs, chapter.shadow_ms / pairs) if pairs else None,
        findings=(*found, *judged),
        words=" ".join([words_of(chapter, found), *words_of_judge(judged)]),
    )


def words_of(chapter: Chapter, found: tuple[Finding, ...]) -> str:
    """One sentence: what all rungs together say."""
    if not chapter.compared:
        return "Nothing is compared yet."
    if not found:
        return f"{chapter.compared} pairs are compared."
    if all(one.says == "no_floor" for one in found):
        return f"{chapter.compared} pairs are compared; without second answers (noise_floor) they say nothing of {chapter.to}."
    differs = [one.rung for one in found if one.says == "differs"]
    if differs:
        return f"{chapter.to} differs from {PRIMARY} by more than that does from itself: {', '.join(differs)}."
    widest = max(one.excess.high for one in found if one.excess.pairs)
    told = f"No more than noise is shown after {chapter.twice} second answers"
    return f"{told}; {chapter.to} differs by at most {100 * widest:.1f} points more than {PRIMARY} from itself."


def words_of_judge(judged: tuple[Finding, ...]) -> list[str]:
    """A sentence of a judge that prefers somebody."""
    said = {"worse": "A judge prefers the answer.", "better": "A judge prefers the shadow's answer."}
    return [said[one.says] for one in judged if one.says in said]
