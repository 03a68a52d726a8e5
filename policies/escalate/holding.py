"""Which answers of a decision are held back until they are judged, and who takes over from them."""

from collections.abc import Sequence

from policies.candidates.sift import sift
from policies.decision import Call, Hold
from policies.facts import Facts
from policies.offer import offer_of, offered
from policies.pickers.lowest_cost import in_order
from policies.policy import Policy, Route
from policies.snapshot import Snapshot
from policies.weigh import request_rates, weigh

Holding = tuple[Hold | None, str]
"""What is held back, or why nothing is."""

NOTHING_HELD_BACK: Holding = None, ""
"""Where the route escalates nothing."""


def holding(policy: Policy, route: Route, facts: Facts, snapshot: Snapshot, steps: Sequence[Call]) -> Holding:
    """Of a route that escalates."""
    plan = policy.escalations[route.escalate]
    if not plan.under:
        return None, f"{plan.name} judges no answer"
    watched = tuple(dict.fromkeys([call.model for call in steps if is_below(route, call.model, plan.to)]))
    why = snapshot.escalations_off.get(route.name, "")
    if steps[0].model not in watched:
        return None, f"{steps[0].model} is not below {plan.to}"
    if "embeddings" in facts.needs:
        return None, "embeddings are not judged"
    if facts.choices > 1:
        return None, "more than one answer is asked for"
    if why:
        return None, f"{plan.name} does not pay: {why}"
    to = takers(policy, route, plan.to, facts, snapshot)
    if not to:
        return None, f"{plan.to} cannot take this request now"
    asked_too = plan.second and not facts.stream and plan.second != steps[0].model
    second = takers(policy, route, plan.second, facts, snapshot)[:1] if asked_too else ()
    weighed_as = plan.weighed_as(steps[0].model, facts.task)
    return Hold(plan.name, watched, to, second[0] if second else None, weighed_as), ""


def is_below(route: Route, model: str, to: str) -> bool:
    """On the ladder of the route where it has one; beside it, every other model."""
    among = route.choose.among if route.choose is not None else ()
    if model in among and to in among:
        return among.index(model) < among.index(to)
    return model != to


def takers(policy: Policy, route: Route, to: str, facts: Facts, snapshot: Snapshot) -> tuple[Call, ...]:
    """The replicas of `to` that can take this request, the best one first."""
    one = offered(route, policy.models[to])
    ready, _ = sift([one], facts, snapshot)
    if not ready:
        return ()
    found = weigh(one, ready[to], facts, request_rates(offer_of(policy, route, to), facts), policy.affinity)
    return tuple(in_order([found], (0,), facts.prefix))
