"""Step 6: one read of the world, as values. The in-flight ledger and every engine's own word, at one instant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from backends.upstream import Prepared
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.escalations import Escalations
from gateway.state.residency import Residency
from policies.snapshot import ReplicaState, Snapshot


class Clock(Protocol):
    def __call__(self) -> float: ...


@dataclass(frozen=True, slots=True)
class World:
    """What decisions read besides the request. `now` in seconds since the epoch."""

    residency: Residency
    now: Clock
    escalations: Escalations = field(default_factory=Escalations)


async def guess_residency(
    live: Live, prepared: Mapping[str, Prepared], world: World
) -> Mapping[str, Mapping[str, int]]:
    """For every model with a choice of remote replicas: replica -> tokens of this prompt that it was sent before."""
    return {
        model: await _held(live.replicas[model], measured, world.residency)
        for model, measured in prepared.items()
        if measured.blocks and has_choice(live.replicas[model])
    }


def has_choice(replicas: tuple[Replica, ...]) -> bool:
    return len(replicas) > 1 and not replicas[0].is_local


async def _held(replicas: tuple[Replica, ...], measured: Prepared, residency: Residency) -> Mapping[str, int]:
    blocks = await residency.held(measured.blocks, [replica.name for replica in replicas])
    return {name: min(count * measured.block_tokens, measured.tokens) for name, count in blocks.items()}


def take_snapshot(
    live: Live, prepared: Mapping[str, Prepared], guessed: Mapping[str, Mapping[str, int]], world: World
) -> Snapshot:
    """Synchronous, so that nothing moves between the read, the decision and the claim that follows it."""
    states = {
        model: tuple(_state(replica, prepared.get(model), guessed.get(model, {})) for replica in replicas)
        for model, replicas in live.replicas.items()
    }
    return Snapshot(replicas=states, now=world.now(), escalations_off=world.escalations.off())


def _state(replica: Replica, measured: Prepared | None, guessed: Mapping[str, int]) -> ReplicaState:
    load = replica.load()
    known = replica.upstream.resident_tokens(measured) if measured and replica.upstream else None
    return ReplicaState(
        replica=replica.name,
        ready=load.ready,
        why_not=load.why_not,
        queued_tokens=load.queued_tokens,
        running=load.running,
        resident_tokens=guessed.get(replica.name, 0) if known is None else known,
        knows_residency=known is not None,
    )
