"""A decision within its budgets: as it was, by a lesser model, or nobody."""

from collections.abc import Callable, Iterator, Mapping
from math import ceil

import msgspec

from policies.budgets.need import Use, need
from policies.budgets.period import ends_at, spelt
from policies.budgets.plan import Budget
from policies.decision import Call, Decision, Dropped, Reject
from policies.facts import AUTO, Facts
from policies.policy import Policy, Route

Again = Callable[[Policy], Decision]
"""Decides the same request by another policy."""

Left = Mapping[str, int | None]
"""By name of the budget what the request's account has left; None where nobody can tell, which is as good as nothing. Who is
missing is not known to have too little."""

OF: Mapping[str, str] = {"tenant": "tenant", "api_key": "API key", "user": "user"}


def afforded(policy: Policy, decision: Decision, facts: Facts, left: Left, *, now: float, again: Again) -> Decision:
    """`decision`, if every budget has room for it; else by the model that a spent budget downgrades to, or a Reject.

    A request that names its model is refused rather than answered by another one.
    """
    spent = [*lacking(policy, decision, facts, left)]
    if not spent:
        return decision
    firm = next((budget for budget in spent if not budget.downgrade_to), None)
    if firm is not None or facts.requested != AUTO:
        return refused(policy, decision, firm or spent[0], facts, left, now=now, why="" if firm else NAMED)
    model = cheapest(policy, spent, facts)
    lesser = again(only(policy, decision, model))
    if isinstance(lesser.choice, Reject):
        if lesser.choice.code == "unavailable":
            return nobody(
                decision, spent[0], Reject("unavailable", f"{called(spent[0])} is spent; {lesser.choice.message}")
            )
        why = f"{model} cannot answer instead: {lesser.choice.message}"
        return refused(policy, decision, spent[0], facts, left, now=now, why=why)
    lesser = downgraded(lesser, decision, spent[0], left)
    firm = next(lacking(policy, lesser, facts, left), None)
    return lesser if firm is None else refused(policy, lesser, firm, facts, left, now=now)


NAMED = "it names its model; auto would be answered by another one"
AWAY = "cannot be looked up while the store is away that gateways share"


def lacking(policy: Policy, decision: Decision, facts: Facts, left: Left) -> Iterator[Budget]:
    """The budgets that have too little left for the first choice and would not let it pass, in the order of the file."""
    if not isinstance(decision.choice, Call):
        return
    use = of(policy, decision, facts)
    for budget in policy.budgets:
        if budget.name in left and is_firm(budget, decision) and not has_room(left[budget.name], use.of(budget)):
            yield budget


def has_room(left: int | None, asked: int) -> bool:
    """What costs nothing passes, whatever was taken before.

    >>> has_room(5, 5), has_room(-1, 0), has_room(None, 0)
    (True, True, False)
    """
    return left is not None and (asked <= left or not asked)


def is_firm(budget: Budget, decision: Decision) -> bool:
    """Whether the budget turns away what it has no room for. One that downgrades counts what the lesser model takes, and
    refuses nothing."""
    if not budget.downgrade_to:
        return True
    choice = decision.choice
    return not decision.over_budget and isinstance(choice, Call) and choice.model != budget.downgrade_to


def of(policy: Policy, decision: Decision, facts: Facts) -> Use:
    """What is set aside for the first choice."""
    choice = decision.choice
    return need(policy.models[choice.model], facts) if isinstance(choice, Call) else Use()


def cheapest(policy: Policy, spent: list[Budget], facts: Facts) -> str:
    """Of the models that spent budgets downgrade to."""
    models = [budget.downgrade_to for budget in spent]
    return min(models, key=lambda name: need(policy.models[name], facts).microusd)


def only(policy: Policy, decision: Decision, model: str) -> Policy:
    """The same policy with nobody but `model` to ask."""
    route = Route(name=decision.route, use=model, fallback=())
    return msgspec.structs.replace(policy, routes=(route,))


def downgraded(lesser: Decision, before: Decision, by: Budget, left: Left) -> Decision:
    assert isinstance(lesser.choice, Call)
    assert isinstance(before.choice, Call)
    why = f"budget {by.name} {AWAY if left[by.name] is None else 'is spent'}"
    reason = f"{lesser.choice.model}: {why}; else {before.choice.model}"
    dropped = [Dropped(drop.model, "budget", why) if drop.filter == "route" else drop for drop in lesser.dropped]
    return msgspec.structs.replace(
        lesser, reason=reason, dropped=tuple(dropped), line=before.line, artefact=before.artefact, over_budget=by.name
    )


def refused(
    policy: Policy, decision: Decision, by: Budget, facts: Facts, left: Left, *, now: float, why: str = ""
) -> Decision:
    """Nobody is asked, and when there is room again is told."""
    return nobody(decision, by, reject(by, of(policy, decision, facts).of(by), left[by.name], now, why))


def nobody(decision: Decision, by: Budget, fault: Reject) -> Decision:
    return msgspec.structs.replace(
        decision,
        steps=(fault,),
        reason=fault.message,
        hold=None,
        unheld="",
        propensity={},
        instead_of="",
        over_budget=by.name,
        hedge=None,
        unhedged="",
        untold=(),
    )


def reject(by: Budget, asked: int, left: int | None, now: float, why: str = "") -> Reject:
    """What others have taken is not told, nor of a budget that is everybody's how large it is."""
    if left is None:
        return Reject("unavailable", f"{called(by)} {AWAY}; try again shortly", again_in_s=1.0)
    if asked > by.at_once:
        most = f"{asked} tokens" if by.unit == "tokens" else f"${asked / 1e6:g}"
        told = f"{called(by)} never has at once the {most} that this request may take; ask for fewer tokens"
        return Reject("over_budget", told)
    wait_s = back_in_s(by, asked, left, now)
    until = f"has room again in {ceil(wait_s)} s" if by.flow else f"is whole again at {spelt(now + wait_s)}"
    told = f"{called(by)} is spent; it {until}"
    return Reject("over_budget", f"{told}; {why}" if why else told, again_in_s=wait_s)


def back_in_s(by: Budget, asked: int, left: int, now: float) -> float:
    """How long until there is room for so much, if nobody takes it meanwhile. Of a budget that is everybody's, how long so
    much takes to flow back."""
    if not by.flow:
        return ends_at(by.period, now) - now
    return (asked if by.per == "all" else asked - left) / by.flow


def called(budget: Budget) -> str:
    """
    >>> called(Budget(name="b", per="api_key", unit="tokens", limit=1, period="min", at_once=1, told="1/min"))
    'budget b (1/min for each API key)'
    """
    whose = f" ({budget.told} for each {OF[budget.per]})" if budget.per in OF else ""
    return f"budget {budget.name}{whose}"
