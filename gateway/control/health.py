"""What /readyz says: which models can answer, which cannot and why, and which policy is in force."""

from collections.abc import Iterator

import msgspec

from gateway.house import Gateway
from gateway.live.in_force import Live
from gateway.live.replicas import Replica


class ReplicaHealth(msgspec.Struct, frozen=True):
    replica: str
    ready: bool
    why_not: str
    running: int
    queued_tokens: int


class SharedState(msgspec.Struct, frozen=True):
    """`shared` is False while this process answers from what it knows alone; `why_not` says why."""

    shared: bool
    why_not: str


class PolicyInForce(msgspec.Struct, frozen=True):
    """`last_error` is what kept a changed file out; "" when what is on disk is what is running."""

    name: str
    hash: str
    last_error: str


class Verdict(msgspec.Struct, frozen=True):
    """What a prober may know without a key."""

    ready: bool
    why_not: str


class Health(msgspec.Struct, frozen=True):
    """What an operator may know: addresses and problems of the policy too."""

    ready: bool
    why_not: str
    in_flight: int
    policy: PolicyInForce
    models: dict[str, list[ReplicaHealth]]
    state: SharedState | None = None


def health_of(gateway: Gateway) -> Health:
    """Ready means: no engine in this process still loads, some replica of any model is ready, and we are not stopping.

    A store that is away, a remote replica that is down, or an engine that did not open or gave up, is told of, and does not
    take the gateway out: the other models still answer.
    """
    live = gateway.live
    models = {name: [_replica_health(replica) for replica in group] for name, group in groups_of(live)}
    why_not = _why_not(gateway)
    policy = PolicyInForce(live.policy.name, live.policy.hash, gateway.last_problem)
    return Health(not why_not, why_not, gateway.door.in_flight, policy, models, _state(gateway))


def groups_of(live: Live) -> Iterator[tuple[str, tuple[Replica, ...]]]:
    """The replicas of each model; of a variant those that are its own, with its name."""
    yield from live.replicas.items()
    for arm, part in live.arms.items():
        yield from (
            (f"{name} ({arm})", group) for name, group in part.replicas.items() if group != live.replicas.get(name)
        )


def verdict_of(gateway: Gateway) -> Verdict:
    why_not = _why_not(gateway)
    return Verdict(not why_not, why_not)


def _why_not(gateway: Gateway) -> str:
    if gateway.door.is_draining:
        return "stopping"
    loads = [(replica, replica.load()) for replica in gateway.live]
    for replica, load in loads:
        if replica.is_local and not load.ready and not replica.failed:
            return f"{replica.model}: {load.why_not}"
    return "" if any(load.ready for _, load in loads) else "no replica is ready"


def _state(gateway: Gateway) -> SharedState | None:
    store = gateway.store
    return None if store is None else SharedState(store.is_asked, "" if store.is_asked else store.why_away)


def _replica_health(replica: Replica) -> ReplicaHealth:
    """A replica that is left alone for a while is told of as not ready."""
    load = replica.load()
    why_not = load.why_not or replica.trust.why_out()
    return ReplicaHealth(replica.name, load.ready and not why_not, why_not, load.running, load.queued_tokens)
