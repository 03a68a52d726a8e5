"""What the whole blend would say of a turn, from its static vector: an answer, and how far it may be off.

A kernel head that learns the blend's own contrasts instead of outcomes. They carry no noise, so it follows them closely;
where it can't, the interval says so, and whoever asked for the estimate has the turn embedded.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from classifiers.heads import kernel
from classifiers.heads.blend import under
from classifiers.heads.contrasts import from_contrasts
from classifiers.heads.inputs import Floats, Inputs, Targets
from classifiers.heads.kernel import Kernel


@dataclass(frozen=True, slots=True)
class Quick:
    """`off` [models - 1]: how far each gain may be off, before the scale. `least`: the likeness below which all is open."""

    head: Kernel
    off: Floats
    least: float

    def ends(self, inputs: Inputs, *, odd: bool = False) -> tuple[Floats, Floats, Floats]:
        """Contrasts of each turn as they are likely, at the low end of all gains, and at the high one, each [n, models]. Of
        what is unlike anything, or `odd`, all is open."""
        likely = self.head.contrasts(inputs)
        strange = (self.head.likeness(inputs.vectors) < self.least) | odd
        off = np.where(strange[:, None], np.inf, self.off)
        return likely, _moved(likely, -off), _moved(likely, off)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that `load` needs."""
        head = {f"head.{name}": value for name, value in self.head.tensors().items()}
        return {**head, "off": self.off, "least": np.array([self.least])}


def load(tensors: Mapping[str, NDArray[np.generic]]) -> Quick:
    """The stage that these tensors describe; KeyError where one is missing."""
    least = np.asarray(tensors["least"], np.float64).item()
    return Quick(kernel.load(under(tensors, "head.")), np.asarray(tensors["off"], np.float64), least)


def fit_head(inputs: Inputs, said: Floats, weight: Floats) -> Kernel:
    """`inputs` hold static vectors, `said` [n, models] the blend's contrasts of the same turns."""
    return kernel.fit(inputs, Targets(from_contrasts(said), weight))


def _moved(contrasts: Floats, by: Floats) -> Floats:
    """Gains moved, none beyond what two qualities can differ by; the mean stays."""
    return np.hstack([contrasts[:, :1], np.clip(contrasts[:, 1:] + by, -1.0, 1.0)])
