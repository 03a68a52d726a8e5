"""What a request came to, and what it would have with a rollout's change, as the rollout's guardrails measure it."""

from collections.abc import Iterator, Mapping

from gateway.experiments.outcomes import outcomes
from gateway.shadows.ask import Told
from gateway.shadows.errand import Errand
from gateway.shadows.whom import Asked
from policies.experiments.paired import TOLD

TIMES = frozenset(("ttft_ms", "duration_ms", "tpot_ms"))


def control_of(errand: Errand) -> dict[str, float]:
    """By source. Whoever was asked again had failed: a shadow is asked once."""
    found = {name: value for name, value in outcomes(errand.settlement).items() if name in TOLD}
    known = {name: value for name, value in found.items() if isinstance(value, float)}
    failed_first = errand.settlement.attempts > 1 and not errand.settlement.judgement
    return {**known, "error": 1.0} if failed_first else known


def change_of(told: Told, asked: Asked | None) -> Mapping[str, float]:
    """By source. An engine of this process answers shadows behind every request, so its times say nothing. `asked` None: by
    the change nobody may answer."""
    known = dict(_told(told))
    if asked is not None and asked.live.replica(asked.call).is_local:
        return {name: value for name, value in known.items() if name not in TIMES}
    return known


def _told(told: Told) -> Iterator[tuple[str, float]]:
    yield "error", float(told.said is None)
    yield "microusd", float(told.microusd)
    if told.said is None:
        return
    yield "duration_ms", told.took_ms
    if told.first_ms is not None:
        yield "ttft_ms", told.first_ms
    if told.usage is not None:
        yield "output_tokens", float(told.usage.completion_tokens)
        if told.first_ms is not None and told.usage.completion_tokens > 1 and told.took_ms > told.first_ms:
            yield "tpot_ms", (told.took_ms - told.first_ms) / (told.usage.completion_tokens - 1)
