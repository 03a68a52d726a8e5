"""What a decision exposed its request to, as evidence needs it."""

from collections.abc import Iterator, Mapping, Sequence

from gateway.experiments.outcomes import covariates
from gateway.request.judge import Judged
from policies.experiments.assign import shares
from policies.experiments.enrol import unit_of
from policies.experiments.plan import REST, Experiment
from policies.experiments.trial import Exposure


def exposures_of(experiments: Sequence[Experiment], judged: Judged) -> Iterator[Exposure]:
    """Of an experiment that is over nobody is exposed."""
    variants = {found.experiment: found for found in judged.decision.assignments}
    for experiment in experiments:
        found = variants.get(experiment.name)
        if found is not None and found.unit:
            known = covariates(experiment.adjust_by, judged.facts, judged.estimate)
            yield Exposure(experiment.name, found.variant, found.unit, chances_of(experiment, judged), known)
        elif found is None and experiment.steps and judged.decision.route in experiment.routes:
            yield from left_out(experiment, judged)


def left_out(experiment: Experiment, judged: Judged) -> Iterator[Exposure]:
    """Of a request that a matched rollout is for, and that it drew for neither side."""
    chances, unit = chances_of(experiment, judged), unit_of(experiment, judged.facts)
    if unit and REST in chances:
        yield Exposure(experiment.name, REST, unit, chances)


def chances_of(experiment: Experiment, judged: Judged) -> Mapping[str, float]:
    """Of each variant; of a rollout those of all units, so that what they leave over is the rest's. Empty before it begins."""
    ramp = judged.snapshot.ramps.get(experiment.name, ())
    if not experiment.steps:
        return {name: chance for name, chance in shares(experiment.ramped(ramp).weights).items() if chance}
    chances = {name: weight for name, weight in ramp[-1].items() if weight} if ramp else {}
    rest = round(1 - sum(chances.values()), 9)
    return {**chances, REST: rest} if chances and rest > 0 else chances


def without_unit(experiments: Sequence[Experiment], judged: Judged) -> Iterator[str]:
    """Experiments of this route that have no unit to go by."""
    for experiment in experiments:
        if judged.decision.route in experiment.routes and not unit_of(experiment, judged.facts):
            yield experiment.name
