"""Step 6: one read of the world, as values. The in-flight ledger and every engine's own word, at one instant."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from backends.upstream import Prepared
from gateway.live.in_force import Group, Live
from gateway.live.replicas import Replica
from gateway.live.trust import eased
from gateway.request.escalate.escalations import Escalations
from gateway.request.hedging.lateness import Hedges
from gateway.state.notes import MemoryNotes, Notes
from gateway.state.residency import Prompt, Residency, Seen
from policies.allowance import MOST, Allowance
from policies.experiments.enrol import Ramps
from policies.snapshot import ReplicaState, Snapshot

NOTHING = Seen({})


class Clock(Protocol):
    def __call__(self) -> float: ...


@dataclass(frozen=True, slots=True)
class World:
    """What decisions read besides the request. `now` in seconds since the epoch. `notes` hold which conversations were
    escalated. `forced` tells the variants of experiments that are over, `ramps` the weights of those that were changed while
    they ran. `hedges` know how long models take to speak, `retries` how
    many may be made. `itemises`: somebody reads what each candidate of a decision costs, and why."""

    residency: Residency
    now: Clock
    escalations: Escalations = field(default_factory=Escalations)
    notes: Notes = field(default_factory=lambda: MemoryNotes(time.monotonic))
    forced: Callable[[], Mapping[str, str]] = dict
    ramps: Callable[[], Ramps] = dict
    hedges: Hedges = field(default_factory=Hedges)
    retries: Allowance = field(default_factory=lambda: Allowance(MOST))
    itemises: bool = True


UNMEASURED = Prepared(tokens=0, exact=False)
"""What has no prefix (an embedding), and still goes where there is least to do."""


async def look_around(
    live: Live, models: Iterable[str], prepared: Mapping[str, Prepared], world: World
) -> Mapping[str, Seen]:
    """For every model with a choice of remote replicas: what they were sent before, and what other gateways gave them to
    do. One round trip for all of them, which also tells what others learnt of where the prompt lies; and one prompt for those
    that read it alike."""
    alike: list[tuple[Prepared, list[str]]] = []
    for model in models:
        if live.groups[model].has_choice:
            measured = prepared.get(model, UNMEASURED)
            for known, company in alike:
                if known.blocks is measured.blocks:
                    company.append(model)
                    break
            else:
                alike.append((measured, [model]))
    if not alike:
        return {}
    prompts: list[Prompt] = []
    for measured, company in alike:
        prompts.append(_prompt(measured, live.together(company)))
    found, seen = await world.residency.look(prompts), {}
    for at, (measured, company) in enumerate(alike):
        one = found[at]
        for model in company:
            seen[model] = one
            if one.others or one.marks:
                for replica in live.groups[model].replicas:
                    _heed(replica, measured, prompts[at], one)
    return seen


def _prompt(measured: Prepared, group: Group) -> Prompt:
    """Marks are wanted from where the first of the replicas that have any lacks them."""
    blocks = measured.blocks
    if not (group.markers and blocks):
        return Prompt(blocks, group.names)
    known = min([marker.marked_blocks(measured) for marker in group.markers])
    return Prompt(blocks, group.names, known if known < len(blocks) else None)


def _heed(replica: Replica, measured: Prepared, prompt: Prompt, seen: Seen) -> None:
    if replica.name in seen.others:
        replica.hear_of_others(seen.others[replica.name])
    marks = seen.marks.get(replica.name)
    if marks and replica.marker is not None and prompt.marks_from is not None:
        replica.marker.take_marks(measured, prompt.marks_from, marks)


def take_snapshot(
    live: Live, prepared: Mapping[str, Prepared], seen: Mapping[str, Seen], world: World, draw: float = 0.0
) -> Snapshot:
    """Synchronous, so that nothing moves between the read, the decision and the claim that follows it. `draw` in [0, 1)."""
    states = {}
    for model, replicas in live.replicas.items():
        states[model] = _states(replicas, prepared.get(model), seen.get(model, NOTHING))
    return Snapshot(replicas=states, now=world.now(), draw=draw, escalations_off=world.escalations.off())


def _states(group: tuple[Replica, ...], measured: Prepared | None, seen: Seen) -> tuple[ReplicaState, ...]:
    """Who failed lately rests; who comes back takes its share by degrees."""
    states: list[ReplicaState] = []
    depths, alike, all_at_ease = seen.depths, seen.alike, True
    for replica in group:
        state = replica.standing()
        if not (replica.trust.is_at_ease and state.ready):
            all_at_ease = False
        if measured is not None and (replica.reads_as is None or state.replica in depths or state.replica in alike):
            state = _before(state, replica, measured, seen)
        states.append(state)
    if all_at_ease:
        return tuple(states)
    return eased(tuple(states), tuple([replica.trust.share(states[at].ready) for at, replica in enumerate(group)]))


def _before(state: ReplicaState, replica: Replica, measured: Prepared, seen: Seen) -> ReplicaState:
    """The same before this very prompt. Of those that are under way there, our own requests and others' may begin alike."""
    known, upstream, size = None, replica.upstream, measured.block_tokens
    if replica.reads_as is None and upstream is not None:
        known = upstream.resident_tokens(measured)
    sent = seen.depths.get(state.replica, 0) * size if known is None else known
    if known is None and sent > measured.tokens:
        sent = measured.tokens
    alike = seen.alike.get(state.replica, 0)
    if sent and size:
        alike += replica.crowds.alike(measured.blocks, sent // size)
    if known is None and not sent and not alike:
        return state
    return msgspec.structs.replace(
        state,
        resident_tokens=replica.keeps.believed(sent) if known is None and replica.keeps.doubts else sent,
        sent_tokens=sent,
        knows_residency=known is not None,
        alike=alike,
    )
