"""Steps 4 to 7 in order: what a request is, how hard it is, what the world looks like, and so what to do."""

import asyncio
import time
from collections.abc import Awaitable, Mapping

import msgspec

from backends.messages import ChatRequest
from backends.upstream import Prepared
from gateway.live.in_force import Live
from gateway.request.escalate.listen import wanted_of
from gateway.request.facts import facts_of, question_of
from gateway.request.identity import Principal
from gateway.request.outlook import NO_VARIANTS, Outlook, Variants
from gateway.request.reading.carried import uncarried
from gateway.request.reading.conversation import Past, Turn, goes_on, keys_of
from gateway.request.reading.draw import draw_of
from gateway.request.reading.measure import prepare
from gateway.request.reading.steps import stuck_of
from gateway.request.reading.units import units_of
from gateway.request.snapshot import World, look_around
from policies.decide import decide_on
from policies.decision import Call, Decision
from policies.escalate.task import task_of
from policies.estimates import Estimate, Unsettled
from policies.facts import AUTO, Facts
from policies.field import assigned
from policies.policy import Policy
from policies.snapshot import Snapshot

LONG_BODY_BYTES = 1 << 20
"""Bodies above this are tried in another dialect off the event loop; one of 64 KB takes 35 µs there."""

PINNED = Estimate(abstains="the request names its model")
NO_DIFFICULTY = Estimate(abstains="no route asks for difficulty")
NO_CHAT = Estimate(abstains="embeddings are not harder for one model than for another")


class Judged(msgspec.Struct, frozen=True):
    """A decision and everything it was made of. `prepared` holds the prompt as the models read it that were asked.
    `turn` leaves word for the next one, where the policy lets conversations move."""

    facts: Facts
    estimate: Estimate
    decision: Decision
    snapshot: Snapshot
    prepared: dict[str, Prepared]
    took_us: int = 0
    turn: Turn | None = None

    def resident_tokens(self, call: Call) -> int | None:
        """Tokens of this prompt that were believed to be at the replica, if that was asked."""
        for state in self.snapshot.replicas[call.model] if call.model in self.prepared else ():
            if state.replica == call.replica:
                return state.resident_tokens
        return None

    def sent_tokens(self, call: Call) -> int | None:
        """Tokens of this prompt that the replica was sent before and may have kept, if that was asked."""
        for state in self.snapshot.replicas[call.model] if call.model in self.prepared else ():
            if state.replica == call.replica:
                return state.sent_tokens
        return None


async def judge(  # noqa: PLR0917  what a request is, and of whom
    in_force: Live,
    request: ChatRequest,
    principal: Principal,
    headers: Mapping[str, str],
    world: World,
    request_id: str = "",
) -> Judged:
    """No await stands between the snapshot and the return: whoever claims at once counts in the next snapshot.

    What decides is the policy in force; what is measured and looked at is the arm of the request's variants.
    """
    policy, live, variants = in_force.policy, in_force, NO_VARIANTS
    if policy.experiments:
        variants = variants_of(in_force, request, principal, headers, world, request_id)
        live = in_force.arm(variants.assignments)
    turn = turn_in(live.policy, request, principal, headers, world)
    if len(request.raw) > LONG_BODY_BYTES and speaks_otherwise(live.policy):
        unable = await asyncio.to_thread(uncarried, request, live.policy.models)
    else:
        unable = uncarried(request, live.policy.models)
    prepared = await prepare(live, request, principal.salt, unable)
    facts = facts_of(request, principal, headers, policy.headers_read, prepared)
    if unable or variants.units:
        facts = msgspec.structs.replace(facts, uncarried=unable, units=variants.units)
    if live.policy.watches_agents and request.asks == "chat":
        facts = msgspec.structs.replace(facts, stuck=stuck_of(request))
    if live.policy.judges_answers and request.asks != "embeddings":
        facts = msgspec.structs.replace(facts, task=task_of(wanted_of(request)))
    looking = look_around(live, live.asked(request.model), prepared, world)
    if turn is None or not turn.before:
        seen = await looking
    else:
        seen, past = await asyncio.gather(looking, turn.past())
        facts = msgspec.structs.replace(facts, escalated_to=past.escalated_to, was_on=past.was_on)
    outlook = Outlook(policy, live, variants, facts, prepared, seen, world, draw_of(request, principal.salt))
    estimate = estimate_for(live, request, outlook.left_open)
    if not isinstance(estimate, Estimate):
        estimate = await estimate
        outlook.forget()
    began = time.perf_counter_ns()
    field = outlook.field()
    decision = decide_on(field, estimate, itemises=world.itemises)
    took_us = (time.perf_counter_ns() - began) // 1_000
    if turn is None and estimate.abstains:
        turn = turn_in(live.policy, request, principal, headers, world, is_unsure=True)
    return Judged(facts, estimate, decision, field.snapshot, prepared, took_us, turn)


def past_of(policy: Policy, judged: Judged) -> Past:
    """What the next turn is told of this one as it was decided: an escalation goes on, else the higher of where the
    conversation was and is. `policy` is the one that decided."""
    facts, choice = judged.facts, judged.decision.choice
    if facts.escalated_to or not tells_tier(policy, judged) or not isinstance(choice, Call):
        return Past(facts.escalated_to, facts.was_on)
    route = next((route for route in policy.routes if route.name == judged.decision.route), None)
    among = route.choose.among if route is not None and route.choose is not None else ()
    place = max([among.index(model) for model in (facts.was_on, choice.model) if model in among], default=0)
    return Past(was_on=among[place] if place else "")


def tells_tier(policy: Policy, judged: Judged) -> bool:
    """Where a line led to, a process alone knows by the history; not where there was no line, for want of an estimate, which
    may be there in the next turn."""
    facts, turn = judged.facts, judged.turn
    is_missed = bool(judged.estimate.abstains or facts.was_on)
    return turn is not None and policy.keeps_tiers and (is_missed or (turn.notes.is_shared and policy.draws_lines))


def turn_in(
    policy: Policy,
    request: ChatRequest,
    principal: Principal,
    headers: Mapping[str, str],
    world: World,
    *,
    is_unsure: bool = False,
) -> Turn | None:
    """None where nothing hangs on earlier turns: whoever names a model gets that, and a process alone has left word of few
    conversations, of none that begins."""
    notes = world.notes
    keeps = policy.keeps_tiers and (
        is_unsure or notes.is_shared or (notes.may_hold_any and goes_on(request, headers, policy.id_from))
    )
    if request.model != AUTO or request.asks != "chat" or not (keeps or policy.moves_conversations):
        return None
    keys = keys_of(request, headers, principal.salt, policy.id_from)
    return None if keys is None else Turn(world.notes, *keys, policy.remember_s)


def variants_of(  # noqa: PLR0917  what a request is, and of whom
    in_force: Live,
    request: ChatRequest,
    principal: Principal,
    headers: Mapping[str, str],
    world: World,
    request_id: str,
) -> Variants:
    """What experiments make of a request. They hang on what is known before any model has read the prompt, so deciding comes to
    the same ones."""
    policy, forced, ramps = in_force.policy, world.forced(), world.ramps()
    wanted, known_by = policy.units, policy.id_from
    units = units_of(wanted, request, principal, headers, request_id, id_from=known_by) if wanted else {}
    bare = msgspec.structs.replace(facts_of(request, principal, headers, policy.headers_read, {}), units=units)
    return Variants(units, assigned(policy, bare, forced=forced, ramps=ramps), forced, ramps)


def speaks_otherwise(policy: Policy) -> bool:
    """Whether a request is tried in another dialect than the usual one, so that a long one is too much for the event loop."""
    return any(model.dialect != "openai_chat" for model in policy.models.values())


def estimate_for(live: Live, request: ChatRequest, unsettled: Unsettled) -> Estimate | Awaitable[Estimate]:
    """Raises nothing: a classifier that is late, absent or broken abstains. `unsettled` tells where a quick estimate will
    not do."""
    difficulty = live.policy.difficulty
    if request.model != AUTO:
        return PINNED
    if request.asks == "embeddings":
        return NO_CHAT
    if difficulty is None or live.estimator is None:
        return NO_DIFFICULTY
    return live.estimator.begin(question_of(request), difficulty.within_ms / 1000, unsettled)
