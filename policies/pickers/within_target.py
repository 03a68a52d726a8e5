"""The tier that a target asks for, from the chances alone: the line that solving drew on the calibration sample."""

from collections.abc import Mapping, Sequence

from policies.catalogue import Model
from policies.policy import Choose


def chances(choose: Choose, models: Mapping[str, Model], p_good: Mapping[str, float]) -> Mapping[str, float] | None:
    """P(good) of each model of the ladder through its head; None when a head says nothing."""
    heads = [(name, models[name].head or name) for name in choose.among]
    if any(head not in p_good for _, head in heads):
        return None
    return {name: p_good[head] for name, head in heads}


def tier(choose: Choose, chance: Mapping[str, float], loss: float) -> int:
    """Place in the ladder of the model with the least cost + loss, in units of the reference. Ties go down."""
    losses = [choose.relative_cost[m] + loss * (1 - chance[m]) for m in choose.among]
    return losses.index(min(losses))


def tiers(choose: Choose, models: Mapping[str, Model], earlier: Sequence[Mapping[str, float]]) -> list[int]:
    """The tier of each earlier prefix of a conversation, oldest first; silent ones are left out.

    The line may have been elsewhere when they were decided: none of them counts for less than it did then.
    """
    known = [chances(choose, models, p_good) for p_good in earlier]
    line = choose.line
    lines = {line.loss, line.loss_before}
    return [max(tier(choose, chance, loss) for loss in lines) for chance in known if chance is not None]
