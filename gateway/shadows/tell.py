"""What the log of decisions keeps of a shadow: numbers, beside the request that it was drawn from."""

from collections.abc import Mapping

from gateway.decisions.record import ShadowRecord
from gateway.shadows.ask import Told
from gateway.shadows.errand import Errand
from policies.shadows.closing import ComesTo

Percents = Mapping[str, int]


def record_of(
    errand: Errand, model: str, told: Told, at: float, *, differs: Percents, twice: Told | None, floor: Percents,
    comes_to: ComesTo = "",
) -> ShadowRecord:  # fmt: skip
    """Of what `model` came to. `differs` and `floor` by rung, in percent; empty where nothing was compared."""
    shadow = errand.picked.shadow
    return ShadowRecord(
        at=at,
        request_id=errand.settlement.request_id,
        tenant=errand.settlement.tenant,
        shadow=shadow.name,
        route=errand.route,
        policy_hash=errand.judged.decision.policy_hash,
        primary=errand.answered_by.model,
        model=model,
        probability=errand.picked.propensity,
        failed=told.failed,
        usage=told.usage,
        microusd=told.microusd + (twice.microusd if twice is not None else 0),
        took_ms=told.took_ms,
        trace_id=told.trace_id,
        differs=differs,
        floor=floor,
        comes_to=comes_to,
    )
