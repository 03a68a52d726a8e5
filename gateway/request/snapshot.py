"""Step 6: one read of the world, as values. The in-flight ledger and every engine's own word, at one instant."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from backends.upstream import Prepared
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.live.trust import eased
from gateway.request.escalations import Escalations
from gateway.request.lateness import Hedges
from gateway.state.notes import MemoryNotes, Notes
from gateway.state.residency import Prompt, Residency, Seen
from policies.allowance import MOST, Allowance
from policies.experiments.enrol import Ramps
from policies.snapshot import ReplicaState, Snapshot

T = TypeVar("T")
NOTHING = Seen({})


class Clock(Protocol):
    def __call__(self) -> float: ...


@dataclass(frozen=True, slots=True)
class World:
    """What decisions read besides the request. `now` in seconds since the epoch. `notes` hold which conversations were
    escalated. `forced` tells the variants of experiments that are over, `ramps` the weights of those that were changed while
    they ran. `hedges` know how long models take to speak, `retries` how
    many may be made."""

    residency: Residency
    now: Clock
    escalations: Escalations = field(default_factory=Escalations)
    notes: Notes = field(default_factory=lambda: MemoryNotes(time.monotonic))
    forced: Callable[[], Mapping[str, str]] = dict
    ramps: Callable[[], Ramps] = dict
    hedges: Hedges = field(default_factory=Hedges)
    retries: Allowance = field(default_factory=lambda: Allowance(MOST))


UNMEASURED = Prepared(tokens=0, exact=False)
"""What has no prefix (an embedding), and still goes where there is least to do."""


async def look_around(
    live: Live, models: Iterable[str], prepared: Mapping[str, Prepared], world: World
) -> Mapping[str, Seen]:
    """For every model with a choice of remote replicas: what they were sent before, and what other gateways gave them to
    do. One round trip for all of them, which also tells what others learnt of where the prompt lies."""
    asked = {
        model: _prompt(group, prepared.get(model, UNMEASURED))
        for model in models
        if has_choice(group := live.replicas[model])
    }
    seen = dict(zip(asked, await world.residency.look(tuple(asked.values())), strict=True)) if asked else {}
    for model, found in seen.items():
        if found.others or found.marks:
            for replica in live.replicas[model]:
                _heed(replica, prepared.get(model, UNMEASURED), asked[model], found)
    return seen


def has_choice(replicas: tuple[Replica, ...]) -> bool:
    """Whether it matters which of them is asked, or may matter when more are found."""
    return bool(replicas) and not replicas[0].is_local and (len(replicas) > 1 or replicas[0].is_found)


def _prompt(group: tuple[Replica, ...], measured: Prepared) -> Prompt:
    """Marks are wanted from where the first of the replicas that have any lacks them."""
    markers = [replica.marker for replica in group if replica.marker is not None] if measured.blocks else []
    known = min([marker.marked_blocks(measured) for marker in markers]) if markers else None
    wanted = known if known is not None and known < len(measured.blocks) else None
    return Prompt(measured.blocks, [replica.name for replica in group], wanted)


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
    states = {
        model: _states(replicas, prepared.get(model), seen.get(model, NOTHING))
        for model, replicas in live.replicas.items()
    }
    return Snapshot(replicas=states, now=world.now(), draw=draw, escalations_off=world.escalations.off())


class Look(Generic[T]):
    """Looks at the world, and has the same view of it again until the event loop has turned: before that nobody else can
    have claimed anything or given it back."""

    def __init__(self, take: Callable[[], T]) -> None:
        self._take = take
        self._seen: T | None = None

    def __call__(self) -> T:
        if self._seen is None:
            self._seen = self._take()
            asyncio.get_running_loop().call_soon(self._forget)
        return self._seen

    def _forget(self) -> None:
        self._seen = None


def _states(group: tuple[Replica, ...], measured: Prepared | None, seen: Seen) -> tuple[ReplicaState, ...]:
    """Who failed lately rests; who comes back takes its share by degrees."""
    states = tuple([_state(replica, measured, seen) for replica in group])
    if len(group) == 1:
        return states
    return eased(states, tuple([replica.trust.share(states[at].ready) for at, replica in enumerate(group)]))


def _state(replica: Replica, measured: Prepared | None, seen: Seen) -> ReplicaState:
    load = replica.load()
    known = replica.upstream.resident_tokens(measured) if measured and replica.upstream else None
    sent = _guess(seen.depths.get(replica.name, 0), measured) if known is None else known
    return ReplicaState(
        replica=replica.name,
        ready=load.ready,
        why_not=load.why_not,
        rests=replica.trust.why_out() if load.ready else "",
        queued_tokens=load.queued_tokens,
        running=load.running,
        active_tokens=load.active_tokens,
        resident_tokens=replica.keeps.believed(sent) if known is None else known,
        sent_tokens=sent,
        prefill_tokens_per_s=replica.prefills.tokens_per_s,
        knows_residency=known is not None,
        alike=(_alike(replica, measured, sent) if sent else 0) + seen.alike.get(replica.name, 0),
    )


def _alike(replica: Replica, measured: Prepared | None, sent: int) -> int:
    """Of our own requests."""
    if measured is None or not measured.block_tokens:
        return 0
    return replica.crowds.alike(measured.blocks, min(sent // measured.block_tokens, len(measured.blocks)))


def _guess(blocks: int, measured: Prepared | None) -> int:
    return min(blocks * measured.block_tokens, measured.tokens) if measured is not None else 0
