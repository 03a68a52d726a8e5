"""What a settled request says of every metric, and what a caller says of it later: by source, for the evidence."""

import math
from collections.abc import Iterator, Mapping
from typing import Literal

from gateway.request.settlement import Settlement
from policies.estimates import Estimate
from policies.experiments.evidence import Value
from policies.facts import Facts

Rating = Literal["good", "bad"]

PASSING = 0.5
"""A score from here on is a success."""


def outcomes(settlement: Settlement) -> Mapping[str, Value]:
    """Nothing of a request that was refused; of one whose client left, that it did, and what it cost."""
    if settlement.end == "rejected":
        return {}
    return dict(_outcomes(settlement))


def _outcomes(settlement: Settlement) -> Iterator[tuple[str, Value]]:
    left, failed = settlement.end == "cancelled", settlement.end == "error"
    yield "abandoned", float(left)
    yield "microusd", float(settlement.microusd)
    if settlement.ttft_ms is not None:
        yield "ttft_ms", settlement.ttft_ms
    if left:
        return
    yield "error", float(failed)
    yield "microusd_of_success", (float(settlement.microusd), float(not failed))
    yield "escalated", float(settlement.judgement == "escalated")
    if not failed:
        yield "duration_ms", settlement.duration_ms
        yield from _answer(settlement)


def _answer(settlement: Settlement) -> Iterator[tuple[str, Value]]:
    usage = settlement.usage
    if usage is None:
        return
    yield "output_tokens", float(usage.completion_tokens)
    if settlement.stream and settlement.ttft_ms is not None and usage.completion_tokens > 1:
        yield "tpot_ms", (settlement.duration_ms - settlement.ttft_ms) / (usage.completion_tokens - 1)


def judged_by_caller(rating: Rating | None, score: float | None, corrected: bool | None) -> Mapping[str, Value]:
    """What a caller's word says of success. An answer that had to be corrected was none.

    >>> judged_by_caller("good", None, None), judged_by_caller(None, 0.2, None)
    ({'success': 1.0}, {'score': 0.2, 'success': 0.0})
    """
    said: dict[str, Value] = {} if score is None else {"score": score}
    if corrected:
        said["success"] = 0.0
    elif rating is not None:
        said["success"] = float(rating == "good")
    elif score is not None:
        said["success"] = float(score >= PASSING)
    return said


def covariates(names: tuple[str, ...], facts: Facts, estimate: Estimate) -> tuple[float, ...]:
    """Known before assignment, whatever the variant: in the order of `names`."""
    chances = estimate.p_good.values()
    known = {
        "predicted_difficulty": 1 - min(chances) if chances else 0.5,
        "prompt_tokens": math.log1p(facts.prompt_tokens),
    }
    return tuple([known[name] for name in names])
