"""Whom a request is for before anybody is asked: the model that a conversation was escalated to."""

from typing import NamedTuple

from policies.facts import Facts
from policies.policy import Policy, Route


class Moved(NamedTuple):
    """`why` in a few words, for headers and logs."""

    model: str
    why: str


def moved(policy: Policy, route: Route, facts: Facts) -> Moved | None:
    """Honoured wherever the route could go there: by its ladder, or by its own escalation."""
    if not facts.escalated_to or route.pins or policy.may_move == "freely":
        return None
    plan = policy.escalations.get(route.escalate)
    ladder = route.choose.among if route.choose is not None else ()
    if facts.escalated_to in ladder or (plan is not None and plan.to == facts.escalated_to):
        return Moved(facts.escalated_to, "the conversation was escalated before")
    return None
