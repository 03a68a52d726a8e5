"""decide(): the table of contents of routing. Pure: same values in, same decision out, byte for byte."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from policies.candidates.reject import reject
from policies.candidates.sift import Sifted, sift
from policies.decision import Call, Decision, Dropped, Reject
from policies.escalate.holding import holding
from policies.estimates import Estimate
from policies.experiments.enrol import Ramps, enrol
from policies.experiments.plan import Assignment
from policies.facts import AUTO, Facts
from policies.pickers.explore import NOTHING, Drawn, explore
from policies.pickers.lowest_cost import Weighed, first_of, in_order, to_be_asked
from policies.pickers.preference import Preference, prefer
from policies.policy import PINNED, Policy, Route
from policies.snapshot import Snapshot
from policies.terms.quality import quality
from policies.weigh import price_of, request_rates, weigh


def decide(policy: Policy, facts: Facts, estimate: Estimate, snapshot: Snapshot) -> Decision:
    """By the policy of the variants that the request gets."""
    assignments = assigned(policy, facts, forced=snapshot.experiments, ramps=snapshot.ramps)
    if not assignments:
        return decide_by(policy, facts, estimate, snapshot)
    decision = decide_by(policy.arm(assignments), facts, estimate, snapshot)
    return msgspec.structs.replace(decision, assignments=assignments)


def assigned(policy: Policy, facts: Facts, *, forced: Mapping[str, str], ramps: Ramps) -> tuple[Assignment, ...]:
    """The request's variants, by the route that it meets in the file's own policy. `forced` are those of experiments that are
    over, `ramps` the weights of those whose weights were changed."""
    if not policy.experiments:
        return ()
    route = matching_route(policy, facts)
    return () if route is None else enrol(policy.experiments, route.name, facts, forced=forced, ramps=ramps)


def decide_by(policy: Policy, facts: Facts, estimate: Estimate, snapshot: Snapshot) -> Decision:
    """Route, then candidates, then their expected cost, then the order in which they are asked."""
    found = ranked(policy, facts, estimate, snapshot)
    if not isinstance(found, Ranked):
        return rejected(policy, found)
    route, preference, sifted, _, best = found
    drawn = draw_tier(route, preference, sifted, best[0].model, snapshot.draw)
    ordered = first_of(best, drawn.model)
    calls = [Call(w.model, w.replica) for w in to_be_asked(ordered, route)]
    steps = calls[: policy.resilience.attempts]
    hold, unheld = holding(policy, route, facts, snapshot, steps)
    return Decision(
        steps=tuple(steps),
        route=route.name,
        reason=why_drawn(route, drawn, best[0]) if drawn.model else why(route, preference, best[0], sifted),
        policy_hash=policy.hash,
        candidates=tuple([w.candidate for w in ordered]),
        dropped=(*sifted.dropped, *outside(policy, route, preference.rank)),
        artefact=estimate.artefact if route.choose is not None else "",
        hold=hold,
        unheld=unheld,
        line=None if route.choose is None else route.choose.line,
        propensity=drawn.propensity,
        instead_of=best[0].model if drawn.model else "",
    )


def first_choices(policy: Policy, facts: Facts, estimates: Sequence[Estimate], snapshot: Snapshot) -> list[str]:
    """For each estimate the model that `decide` would ask first if nothing were drawn; "" where nobody may answer.

    What hangs on the chances alone is weighed again for each of them, everything else once.
    """
    assignments = assigned(policy, facts, forced=snapshot.experiments, ramps=snapshot.ramps)
    arm = policy.arm(assignments) if assignments else policy
    first, *others = estimates
    found = ranked(arm, facts, first, snapshot)
    again = [otherwise(arm, facts, found, estimate, snapshot) for estimate in others]
    return [one.best[0].model if isinstance(one, Ranked) else "" for one in (found, *again)]


def otherwise(
    policy: Policy, facts: Facts, found: "Ranked | Nobody", estimate: Estimate, snapshot: Snapshot
) -> "Ranked | Nobody":
    """The same as `ranked` with another estimate, from what it found with the first."""
    if not isinstance(found, Ranked):
        return ranked(policy, facts, estimate, snapshot)
    route, before = found.route, found.preference
    asked = facts.requested if route.pins else route.use
    preference = prefer(policy, route, asked, facts, estimate)
    if (preference.rank, preference.home) != (before.rank, before.home):
        return ranked(policy, facts, estimate, snapshot)
    exchange, chance = request_rates(route, policy.models, asked, facts), preference.chance or {}
    weighed = [one.with_quality(quality(exchange, chance.get(one.model))) for one in found.weighed]
    best = in_order(weighed, preference.rank, facts.prefix)
    return Ranked(route, preference, found.sifted, weighed, best)


class Ranked(NamedTuple):
    """Who may answer, the best first, and what put them so. `best` is never empty."""

    route: Route
    preference: Preference
    sifted: Sifted
    weighed: list[Weighed]
    best: list[Weighed]


class Nobody(NamedTuple):
    """Why nobody may answer; `route` is "" where none was met."""

    fault: Reject
    route: str = ""
    dropped: tuple[Dropped, ...] = ()


def ranked(policy: Policy, facts: Facts, estimate: Estimate, snapshot: Snapshot) -> Ranked | Nobody:
    if facts.requested != AUTO and facts.requested not in policy.models:
        return Nobody(unknown_model(policy, facts))
    route = matching_route(policy, facts)
    if route is None:
        return Nobody(Reject("no_route", "no route of the policy matches this request"))
    asked = facts.requested if route.pins else route.use
    preference = prefer(policy, route, asked, facts, estimate)
    sifted = sift([policy.models[name] for name in preference.rank], facts, snapshot)
    fault = nobody_can(policy, route, asked, facts, sifted)
    if fault is not None:
        return Nobody(fault, route.name, (*sifted.dropped, *outside(policy, route, preference.rank)))
    weighed = list(weigh_all(policy, route, asked, facts, preference=preference, sifted=sifted))
    return Ranked(route, preference, sifted, weighed, in_order(weighed, preference.rank, facts.prefix))


def matching_route(policy: Policy, facts: Facts) -> Route | None:
    """The first route that matches. A concrete name only meets routes that honour it, and is honoured without one."""
    is_concrete = facts.requested != AUTO
    for route in policy.routes:
        if route.pins == is_concrete and route.matches(facts):
            return route
    return PINNED if is_concrete else None


def nobody_can(policy: Policy, route: Route, asked: str, facts: Facts, sifted: Sifted) -> Reject | None:
    """The reject, if no candidate is left. A pinned request that its model cannot take is told so, not sent elsewhere:
    its fallbacks are for failures."""
    if not sifted.ready:
        return reject(policy.models, facts, sifted.dropped)
    own_fault = [drop for drop in sifted.dropped if drop.model == asked and drop.filter != "healthy"]
    return reject(policy.models, facts, own_fault) if route.pins and own_fault else None


def weigh_all(
    policy: Policy, route: Route, asked: str, facts: Facts, *, preference: Preference, sifted: Sifted
) -> Iterator[Weighed]:
    exchange = request_rates(route, policy.models, asked, facts)
    for name, states in sifted.ready.items():
        model = policy.models[name]
        chance = None if preference.chance is None else preference.chance.get(name)
        yield from weigh(
            model,
            states,
            facts,
            rate=price_of(route, model),
            chance=chance,
            exchange=exchange,
            bounds=policy.affinity,
            is_home=name == preference.home,
        )


def draw_tier(route: Route, preference: Preference, sifted: Sifted, chosen: str, draw: float) -> Drawn:
    """Whom the conversation's draw puts in place of `chosen`, on a route that explores."""
    if route.choose is None:
        return NOTHING
    among = route.choose.among
    return explore(route.explore, among, floor=preference.floor, ready=sifted.ready, chosen=chosen, draw=draw)


def outside(policy: Policy, route: Route, rank: Mapping[str, int]) -> tuple[Dropped, ...]:
    """The models that this route never asks."""
    reason = f"not in route {route.name}"
    return tuple([Dropped(name, "route", reason) for name in policy.models if name not in rank])


def why(route: Route, preference: Preference, chosen: Weighed, sifted: Sifted) -> str:
    """One line for a person."""
    model = chosen.model
    if route.choose is None:
        asked = preference.why or ("asked for by name" if route.pins else f"route {route.name} uses it")
        return f"{model}: {asked}" if preference.rank[model] == 0 else f"{model}: fallback of route {route.name}"
    if len(sifted.ready) == 1:
        return f"{model}: the only candidate left"
    if preference.why:
        return f"{model}: {preference.why}"
    chances = preference.chance or {}
    odds = ", ".join([f"{name} {chances[name]:.2f}" for name in route.choose.among if name in chances])
    return f"{model}: least expected cost for {route.choose.target}; p_good {odds}"


def why_drawn(route: Route, drawn: Drawn, best: Weighed) -> str:
    return f"{drawn.model}: drawn, to explore {100 * route.explore:g}% of conversations; else {best.model}"


def unknown_model(policy: Policy, facts: Facts) -> Reject:
    """Names what the caller may ask for, and nothing else."""
    may = [name for name in policy.models if facts.allowed_models is None or name in facts.allowed_models]
    names = ", ".join([AUTO, *may])
    return Reject("unknown_model", f"there is no model {facts.requested!r}; the models are: {names}", "model")


def rejected(policy: Policy, nobody: Nobody) -> Decision:
    """A decision to answer nobody. Models that were never looked at fell with the request itself."""
    fault, dropped = nobody.fault, nobody.dropped
    seen = {drop.model for drop in dropped}
    unseen = tuple([Dropped(name, "route", fault.message) for name in policy.models if name not in seen])
    return Decision(
        steps=(fault,), route=nobody.route, reason=fault.message, policy_hash=policy.hash, dropped=(*dropped, *unseen)
    )
