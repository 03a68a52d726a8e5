"""What earlier turns say of a request is on its span, and nothing where they say nothing."""

from gateway.telemetry import names
from gateway.telemetry.redact import Redactor
from gateway.telemetry.traces.attributes import decided
from policies.decision import Call, Decision
from policies.escalate.stuck import Stuck
from policies.facts import Facts

DECISION = Decision(steps=(Call("large", "http://l"),), route="default", reason="large: because", policy_hash="p")
WORDS = {names.ESCALATED_TO, names.WAS_ON, names.STUCK_TURNS}


def told(facts: Facts) -> dict[str, object]:
    known = decided(facts, DECISION, None, None, Redactor([]))
    return {name: value for name, value in known.items() if name in WORDS}


def test_an_escalation_before_and_an_agent_that_is_stuck_are_told() -> None:
    assert told(Facts(escalated_to="large")) == {"router.conversation.escalated_to": "large"}
    assert told(Facts(was_on="large")) == {"router.conversation.was_on": "large"}
    assert told(Facts(stuck=Stuck(3, 3, 3, 0))) == {"router.agent.stuck_turns": 3}


def test_a_first_turn_says_nothing_of_others() -> None:
    assert told(Facts()) == {}
    assert told(Facts(stuck=Stuck(0, 4, 4, 0))) == {}, "it got on again"
