"""A request that waits to be asked again: what it was, and what was answered."""

from dataclasses import dataclass

from backends.messages import ChatRequest, Event
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from gateway.shadows.capture import Capture
from gateway.telemetry.observe import Observation
from policies.decision import Call
from policies.facts import Facts
from policies.shadows.sample import Picked


@dataclass(slots=True)
class Drawn:
    """A request under way that shadows have drawn. `salt` keeps its tenant's prompts apart."""

    picks: tuple[Picked, ...]
    request: ChatRequest
    salt: bytes
    judged: Judged
    observation: Observation
    capture: Capture


@dataclass(frozen=True, slots=True)
class Errand:
    """One shadow's part of it, when it is over. `answered_by` has said `events`, for `microusd`, in `took_ms`."""

    picked: Picked
    request: ChatRequest
    salt: bytes
    facts: Facts
    request_id: str
    tenant: str
    policy_hash: str
    route: str
    answered_by: Call
    events: list[Event]
    microusd: int
    took_ms: float
    observation: Observation


ENDS = ("stop", "length", "tool_calls", "content_filter")
"""Of answers that can be compared."""


def errand_of(picked: Picked, drawn: Drawn, settlement: Settlement) -> Errand | None:
    """None where there is no answer to compare with: an error, a client that left, an answer that was given up and sent after
    all."""
    if settlement.end not in ENDS or settlement.answered_by is None or settlement.judgement == "turned_back":
        return None
    return Errand(
        picked=picked,
        request=drawn.request,
        salt=drawn.salt,
        facts=drawn.judged.facts,
        request_id=settlement.request_id,
        tenant=settlement.tenant,
        policy_hash=drawn.judged.decision.policy_hash,
        route=drawn.judged.decision.route,
        answered_by=settlement.answered_by,
        events=drawn.capture.events,
        microusd=settlement.microusd,
        took_ms=settlement.duration_ms,
        observation=drawn.observation,
    )
