"""All filters in their order, over the models of a route; what fell, where, and why."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from policies.candidates.allowed import why_not_allowed
from policies.candidates.can import ONLY_EMBEDS, why_it_cannot
from policies.candidates.dialect import why_not_carried
from policies.candidates.fits import why_too_long
from policies.candidates.healthy import states, why_down
from policies.catalogue import Model
from policies.decision import Dropped
from policies.facts import Facts
from policies.offer import Offered
from policies.snapshot import ReplicaState, Snapshot

Ready = Mapping[str, tuple[ReplicaState, ...]]
"""The replicas that may answer, by model, in the order asked for."""


def sift(offered: Iterable[Offered], facts: Facts, snapshot: Snapshot) -> tuple[Ready, tuple[Dropped, ...]]:
    """Every model ends up among the ready ones or has a reason among the dropped; one with some replicas down is in both."""
    ready: dict[str, tuple[ReplicaState, ...]] = {}
    dropped: list[Dropped] = []
    some_rest, all_rest = False, True
    for one in offered:
        model = one.model
        fault = first_fault(model, facts)
        if fault is not None:
            dropped.append(fault)
            continue
        known, is_whole = states(one, snapshot)
        if is_whole:
            ready[model.name], all_rest = known, False
            continue
        up = tuple([state for state in known if state.ready])
        if len(up) < len(known) or not known:
            dropped.extend(down(model, known))
        if up:
            ready[model.name] = up
        for state in up:
            some_rest, all_rest = some_rest or bool(state.rests), all_rest and bool(state.rests)
    if some_rest and not all_rest:
        return awake(ready), (*dropped, *left_alone(ready))
    return ready, tuple(dropped)


def down(model: Model, known: Sequence[ReplicaState]) -> Iterator[Dropped]:
    if not known:
        yield Dropped(model.name, "healthy", "no replica of it is found")
    yield from (Dropped(model.name, "healthy", why_down(state), state.replica) for state in known if not state.ready)


def awake(ready: Ready) -> Ready:
    """The same without who is left alone for a while."""
    found = {name: tuple([state for state in up if not state.rests]) for name, up in ready.items()}
    return {name: up for name, up in found.items() if up}


def left_alone(ready: Ready) -> Iterator[Dropped]:
    for name, up in ready.items():
        yield from (Dropped(name, "healthy", state.rests, state.replica) for state in up if state.rests)


def first_fault(model: Model, facts: Facts) -> Dropped | None:
    """The first filter that `model` does not pass. These are of the model alone, in this order; `healthy` is of its replicas
    and comes last. A filter that has no cause to drop anything is not asked."""
    if facts.allowed_models is not None and (why := why_not_allowed(model, facts)):
        return Dropped(model.name, "allowed", why)
    if (facts.needs or facts.thinking or model.can == ONLY_EMBEDS) and (why := why_it_cannot(model, facts)):
        return Dropped(model.name, "can", why)
    if facts.uncarried and (why := why_not_carried(model, facts)):
        return Dropped(model.name, "dialect", why)
    fits = model.fits
    if (fits.context is not None or fits.output is not None) and (why := why_too_long(model, facts)):
        return Dropped(model.name, "fits", why)
    return None
