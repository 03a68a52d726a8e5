"""What a person's order makes of an experiment or a rollout."""

from gateway.experiments.chapter import Chapter
from gateway.experiments.shelf import Order
from policies.experiments import rollout
from policies.experiments.standing import Standing


def ordered(chapter: Chapter, order: Order) -> Standing:
    """How an experiment stands after a person's order. What is over for good is not ramped; what was held goes on."""
    control, standing = chapter.experiment.control, chapter.standing
    if chapter.experiment.steps:
        return rollout_ordered(chapter, order)
    if order.action == "stop":
        return Standing("stopped", control, "stopped by a person", order.at)
    if order.action == "promote":
        return Standing("promoted", order.variant or control, "promoted by a person", order.at)
    if order.action == "ramp":
        return Standing("running", "", "ramped by a person", order.at, (*standing.ramp, order.weights))
    return standing


def rollout_ordered(chapter: Chapter, order: Order) -> Standing:
    """The same of a rollout: an order that does not fit how it stands changes nothing."""
    standing, experiment = chapter.standing, chapter.experiment
    if order.action == "approve":
        return rollout.approved(standing, experiment, chapter.canaries, order.at)
    if order.action == "resume":
        return rollout.resumed(standing, experiment, order.at)
    return rollout.aborted(standing, order.at) if order.action == "abort" else standing
