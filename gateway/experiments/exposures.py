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
        chances = chances_of(experiment, judged)
        if found is not None and found.unit:
            known = covariates(experiment.adjust_by, judged.facts, judged.estimate)
            yield Exposure(experiment.name, found.variant, found.unit, chances, known)
        elif found is None and REST in chances and (unit := left_out(experiment, judged)):
            yield Exposure(experiment.name, REST, unit, chances)


def left_out(experiment: Experiment, judged: Judged) -> str:
    """The unit of a request that the experiment is for, and that was drawn for no variant of it."""
    return unit_of(experiment, judged.facts) if judged.decision.route in experiment.routes else ""


def chances_of(experiment: Experiment, judged: Judged) -> Mapping[str, float]:
    """Of each variant; of a matched rollout those of all units, so that what they leave over is the rest's."""
    weights = experiment.ramped(judged.snapshot.ramps.get(experiment.name, ())).weights
    if not experiment.steps:
        return {name: chance for name, chance in shares(weights).items() if chance}
    chances = {name: weight for name, weight in weights.items() if weight}
    rest = round(1 - sum(weights.values()), 9)
    return {**chances, REST: rest} if rest > 0 else chances


def without_unit(experiments: Sequence[Experiment], judged: Judged) -> Iterator[str]:
    """Experiments of this route that have no unit to go by."""
    for experiment in experiments:
        if judged.decision.route in experiment.routes and not unit_of(experiment, judged.facts):
            yield experiment.name
