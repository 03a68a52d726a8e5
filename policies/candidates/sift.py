"""All filters in their order, over the models of a route; what fell, where, and why."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from policies.candidates.allowed import why_not_allowed
from policies.candidates.can import why_it_cannot
from policies.candidates.dialect import why_not_carried
from policies.candidates.fits import why_too_long
from policies.candidates.healthy import states, why_down
from policies.catalogue import Model
from policies.decision import Dropped
from policies.facts import Facts
from policies.offer import Offered
from policies.snapshot import ReplicaState, Snapshot


class Sifted(msgspec.Struct, frozen=True):
    """`ready` holds the replicas that may answer, by model, in the order asked for."""

    ready: Mapping[str, tuple[ReplicaState, ...]]
    dropped: tuple[Dropped, ...]


def sift(offered: Iterable[Offered], facts: Facts, snapshot: Snapshot) -> Sifted:
    """Every model ends up in `ready` or has a reason in `dropped`; one with some replicas down is in both."""
    ready: dict[str, tuple[ReplicaState, ...]] = {}
    dropped: list[Dropped] = []
    for one in offered:
        model = one.model
        fault = first_fault(model, facts)
        if fault is not None:
            dropped.append(fault)
            continue
        known = states(model, snapshot)
        up = known
        for state in known:
            if not state.ready:
                up = tuple([state for state in known if state.ready])
                dropped.extend(Dropped(model.name, "healthy", why_down(s), s.replica) for s in known if not s.ready)
                break
        if not known:
            dropped.append(Dropped(model.name, "healthy", "no replica of it is found"))
        if up:
            ready[model.name] = up
    if some_rest(ready.values()) and not all(state.rests for up in ready.values() for state in up):
        return Sifted(awake(ready), (*dropped, *left_alone(ready)))
    return Sifted(ready, tuple(dropped))


def some_rest(ready: Iterable[tuple[ReplicaState, ...]]) -> bool:
    for up in ready:
        for state in up:
            if state.rests:
                return True
    return False


def awake(ready: Mapping[str, tuple[ReplicaState, ...]]) -> dict[str, tuple[ReplicaState, ...]]:
    """The same without who is left alone for a while."""
    found = {name: tuple([state for state in up if not state.rests]) for name, up in ready.items()}
    return {name: up for name, up in found.items() if up}


def left_alone(ready: Mapping[str, tuple[ReplicaState, ...]]) -> Iterator[Dropped]:
    for name, up in ready.items():
        yield from (Dropped(name, "healthy", state.rests, state.replica) for state in up if state.rests)


def first_fault(model: Model, facts: Facts) -> Dropped | None:
    """The first filter that `model` does not pass. These are of the model alone, in this order; `healthy` is of its replicas
    and comes last."""
    if facts.allowed_models is not None and (why := why_not_allowed(model, facts)):
        return Dropped(model.name, "allowed", why)
    if why := why_it_cannot(model, facts):
        return Dropped(model.name, "can", why)
    if facts.uncarried and (why := why_not_carried(model, facts)):
        return Dropped(model.name, "dialect", why)
    if why := why_too_long(model, facts):
        return Dropped(model.name, "fits", why)
    return None
