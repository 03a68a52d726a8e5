"""A request that waits to be asked again: what it was, and what was answered."""

from dataclasses import dataclass
from typing import NamedTuple

from backends.messages import ChatRequest, Event
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from gateway.shadows.capture import Capture
from gateway.telemetry.observe import Observation
from policies.decision import Call
from policies.facts import Facts
from policies.shadows.sample import Picked


class Question(NamedTuple):
    """What is asked in one call, and what is known of it."""

    request: ChatRequest
    facts: Facts


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
    """One shadow's part of it, when it is over. `answered_by` has said `events`; where nobody answered it is who was asked
    first. `settlement` is what the request came to, `judged` what it was, but for the tokens of its prompt, which would weigh
    more than all the rest while it waits."""

    picked: Picked
    request: ChatRequest
    salt: bytes
    judged: Judged
    settlement: Settlement
    answered_by: Call
    events: list[Event]
    observation: Observation

    @property
    def facts(self) -> Facts:
        return self.judged.facts

    @property
    def question(self) -> Question:
        return Question(self.request, self.facts)

    @property
    def route(self) -> str:
        return self.judged.decision.route

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer to compare with."""
        return self.settlement.end in ENDS


ENDS = ("stop", "length", "tool_calls", "content_filter")
"""Of answers that can be compared."""


def errand_of(picked: Picked, drawn: Drawn, settlement: Settlement) -> Errand | None:
    """None where there is nothing to compare with: an error, a client that left, an answer that was given up and sent after
    all. Of a rollout an error is something: how often the change fails counts beside how often control does."""
    ends = (*ENDS, "error") if picked.shadow.rollout else ENDS
    primary = settlement.answered_by or first_asked(drawn.judged)
    if settlement.end not in ends or primary is None or settlement.judgement == "turned_back":
        return None
    return Errand(
        picked=picked,
        request=drawn.request,
        salt=drawn.salt,
        judged=without_prompts(drawn.judged),
        settlement=settlement,
        answered_by=primary,
        events=drawn.capture.events,
        observation=drawn.observation,
    )


def without_prompts(judged: Judged) -> Judged:
    return Judged(judged.facts, judged.estimate, judged.decision, judged.snapshot, {}, judged.took_us, judged.turn)


def first_asked(judged: Judged) -> Call | None:
    return next((step for step in judged.decision.steps if isinstance(step, Call)), None)
