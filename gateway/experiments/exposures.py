"""What a decision exposed its request to, as evidence needs it."""

from collections.abc import Iterator, Sequence

from gateway.experiments.outcomes import covariates
from gateway.request.judge import Judged
from policies.experiments.assign import shares
from policies.experiments.enrol import unit_of
from policies.experiments.plan import Experiment
from policies.experiments.trial import Exposure


def exposures_of(experiments: Sequence[Experiment], judged: Judged) -> Iterator[Exposure]:
    """Of an experiment that is over nobody is exposed."""
    named = {experiment.name: experiment for experiment in experiments}
    for found in judged.decision.assignments:
        if found.unit:
            experiment = named[found.experiment]
            known = covariates(experiment.adjust_by, judged.facts, judged.estimate)
            weights = experiment.ramped(judged.snapshot.ramps.get(found.experiment, ())).weights
            chances = {name: chance for name, chance in shares(weights).items() if chance}
            yield Exposure(found.experiment, found.variant, found.unit, chances, known)


def without_unit(experiments: Sequence[Experiment], judged: Judged) -> Iterator[str]:
    """Experiments of this route that have no unit to go by."""
    for experiment in experiments:
        if judged.decision.route in experiment.routes and not unit_of(experiment, judged.facts):
            yield experiment.name
