"""Whom a request is for before anybody is asked: the model that a conversation was escalated to, or that is to free it."""

from typing import NamedTuple

from policies.escalate.plan import Escalation
from policies.escalate.stuck import Stuck
from policies.facts import Facts
from policies.policy import Policy, Route


class Moved(NamedTuple):
    """`why` in a few words, for headers and logs."""

    model: str
    why: str


def moved(policy: Policy, route: Route, facts: Facts) -> Moved | None:
    """An agent that is stuck goes where the route escalates to. What was escalated before stays, wherever the route could
    go there: by its ladder, or by its own escalation."""
    if not (facts.escalated_to or facts.stuck.most) or route.pins:
        return None
    plan = policy.escalations.get(route.escalate)
    why = why_stuck(plan, facts.stuck) if plan is not None and facts.stuck.most else ""
    if plan is not None and why:
        return Moved(plan.to, why)
    if not facts.escalated_to or policy.may_move == "freely":
        return None
    ladder = route.choose.among if route.choose is not None else ()
    if facts.escalated_to in ladder or (plan is not None and plan.to == facts.escalated_to):
        return Moved(facts.escalated_to, "the conversation was escalated before")
    return None


def why_stuck(plan: Escalation, stuck: Stuck) -> str:
    """Why the larger model is to free the agent, or "". Where conversations move with it, once stuck is enough: the history
    shows it as long as it is there.

    >>> plan = Escalation(name="agent", to="large", under=0.0, signals=frozenset(), stuck_turns=2)
    >>> why_stuck(plan, Stuck(turns=2, most=2, failed=2, repeated=1))
    'stuck for 2 turns: calls that fail, calls made before'
    >>> why_stuck(plan, Stuck(turns=0, most=3, repeated=3))
    'was stuck for 3 turns: calls made before'
    """
    counts = stuck.most if plan.moves == "conversation" else stuck.turns
    if not plan.stuck_turns or counts < plan.stuck_turns:
        return ""
    is_now = stuck.turns >= plan.stuck_turns
    by = [word for word, count in (("calls that fail", stuck.failed), ("calls made before", stuck.repeated)) if count]
    return f"{'' if is_now else 'was '}stuck for {stuck.turns if is_now else stuck.most} turns: {', '.join(by)}"
