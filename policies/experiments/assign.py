"""Which variant a unit is in: weighted rendezvous, without any state.

Each variant draws a number for the unit and the best draw wins; a variant's chance is its share of the weights. When one
variant's weight changes, or one is added or taken away, units move to it or from it alone. For a change of several weights
at once no rule without memory moves as few as could be (Angel and Spinka, "Pairwise optimal coupling", 2019); told the
weights of before, this one does.
"""

import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise

from policies.experiments.plan import Assignment, Experiment

BITS = 53
"""Of a draw: as many as a float holds exactly."""


def draw(*parts: str) -> float:
    """A number in (0, 1) that these words always give, and that is uniform over words.

    >>> 0 < draw("salt", "treat", "unit-1") < 1
    True
    """
    told = b"\0".join([part.encode("utf-8", "surrogatepass") for part in parts])
    whole = int.from_bytes(blake2b(told, digest_size=8, person=b"turnout-assign").digest(), "big")
    return ((whole >> (64 - BITS)) + 0.5) / (1 << BITS)


def rendezvous(weights: Mapping[str, float], salt: str, unit: str) -> str:
    """The variant with the best draw among those with a weight above 0. At least one must have one.

    >>> rendezvous({"control": 1.0, "treat": 0.0}, "2026", "unit-1")
    'control'
    """
    scores = [(-weight / math.log(draw(salt, name, unit)), name) for name, weight in weights.items() if weight > 0]
    return max(scores)[1]


def variant_of(history: Sequence[Mapping[str, float]], salt: str, unit: str) -> str:
    """The variant under the last weights of `history`, having lived through the others.

    At each change a variant that shrinks lets go of what it has too much, by a draw of its own; those units go to the
    variants that grow, in proportion. So exactly the least share moves, and shares are as the weights say.
    """
    variant = rendezvous(history[0], salt, unit)
    for step, (old, new) in enumerate(pairwise(history), start=1):
        variant = _moved(variant, shares(old), shares(new), f"{salt}\0{step}", unit)
    return variant


def _moved(variant: str, old: Mapping[str, float], new: Mapping[str, float], salt: str, unit: str) -> str:
    stays = min(1.0, new.get(variant, 0.0) / old[variant])
    if draw(salt, "stays", unit) < stays:
        return variant
    growth = {name: new[name] - old.get(name, 0.0) for name in new if new[name] > old.get(name, 0.0)}
    return rendezvous(growth, salt, unit) if growth else variant


def shares(weights: Mapping[str, float]) -> Mapping[str, float]:
    """
    >>> shares({"control": 90.0, "treat": 10.0})
    {'control': 0.9, 'treat': 0.1}
    """
    whole = sum(weights.values())
    return {name: weight / whole for name, weight in weights.items()}


def assign(experiment: Experiment, unit: str) -> Assignment | None:
    """The unit's variant, or None where it is outside the experiment's part of the layer.

    A layer has one draw for each unit, and its experiments have parts that do not meet: so they never share a unit, while
    experiments of different layers are independent of each other.
    """
    if not experiment.starts <= draw("layer", experiment.layer, unit) < experiment.ends:
        return None
    weights = experiment.weights
    variant = variant_of((*experiment.before, weights), f"{experiment.name}\0{experiment.salt}", unit)
    changes = next(found.changes for found in experiment.variants if found.name == variant)
    return Assignment(experiment.name, variant, unit, shares(weights)[variant], changes)
