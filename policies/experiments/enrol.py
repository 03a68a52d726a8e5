"""Which experiments a request takes part in, with which variants, and so by which policy it is decided."""

from collections.abc import Iterable, Iterator, Mapping

from policies.experiments.assign import assign
from policies.experiments.plan import CANARY, Assignment, Experiment
from policies.facts import Facts

Ramps = Mapping[str, tuple[Mapping[str, float], ...]]
"""Of experiments whose weights were changed while they ran: those that followed the file's, the ones in force last."""


def enrol(
    experiments: Iterable[Experiment], route: str, facts: Facts, *, forced: Mapping[str, str], ramps: Ramps
) -> tuple[Assignment, ...]:
    """One assignment for each experiment that this route is part of and whose unit this request has.

    `forced` names, of experiments that are over, the variant that everybody gets; that is no exposure.
    """
    ramped = [experiment.ramped(ramps.get(experiment.name, ())) for experiment in experiments]
    return tuple(_assignments(ramped, route, facts, forced))


def _assignments(
    experiments: Iterable[Experiment], route: str, facts: Facts, forced: Mapping[str, str]
) -> Iterator[Assignment]:
    for experiment in experiments:
        if route not in experiment.routes:
            continue
        variant = forced.get(experiment.name)
        unit = unit_of(experiment, facts)
        if variant is not None:
            yield settled_on(experiment, variant)
        elif unit and (found := assign(experiment, unit)) is not None:
            yield found


def unit_of(experiment: Experiment, facts: Facts) -> str:
    """The digest of the unit that this request is of; "" where it does not say."""
    return facts.tenant if experiment.unit == "tenant" else facts.units.get(experiment.unit, "")


def settled_on(experiment: Experiment, variant: str) -> Assignment:
    """An experiment that is over, in favour of a variant: nothing is drawn, so no unit is named."""
    changes = any(found.changes for found in experiment.variants if found.name == variant)
    return Assignment(experiment.name, variant, "", 1.0, changes)


def arm_of(assignments: Iterable[Assignment]) -> str:
    """The name of the policy that these assignments decide by; "" is the file's own.

    >>> arm_of([Assignment("a", "treat", "u", 0.5, True), Assignment("b", "control", "u", 0.5)])
    'a=treat'
    """
    return ",".join([f"{found.experiment}={found.variant}" for found in assignments if found.changes])


def with_canary(experiments: Iterable[Experiment], assigned: Iterable[Assignment], rollout: str) -> list[Assignment]:
    """A request's variants, and the rollout's change, in the policy's order."""
    canary = Assignment(rollout, CANARY, "", 1.0, changes=True)
    named: Mapping[str, Assignment] = {found.experiment: found for found in (*assigned, canary)}
    return [named[experiment.name] for experiment in experiments if experiment.name in named]
