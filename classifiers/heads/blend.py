"""The head that is used: the mean of unlike members, calibrated. How many members depends on how many rows there are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from classifiers.heads import boosted, calibrate, kernel
from classifiers.heads.calibrate import Calibrator, Line
from classifiers.heads.contrasts import from_contrasts, to_contrasts
from classifiers.heads.inputs import Floats, Inputs, Targets

Tensors = Mapping[str, NDArray[np.generic]]


class Head(Protocol):
    """One way from inputs to what is learned."""

    def contrasts(self, inputs: Inputs) -> Floats:
        """Mean quality and gains, [n, models]; see contrasts.py."""

    def tensors(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything needed to answer alike after a restart."""


_KINDS = {"kernel": kernel, "boosted": boosted}
_FROM_ROWS = {"kernel": 0, "boosted": 3000}
"""Trees need many rows; with fewer they only add noise to the kernel."""

PARTS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """From what heads say to chances: a calibrator for the models' mean, a line for each gain over the model before."""

    level: Calibrator
    gains: Sequence[Line]

    def apply(self, contrasts: Floats) -> Floats:
        """P(good), [n, models], within 0.005 .. 0.995. Calibrated one by one the chances would lose who gains more."""
        level = self.level.apply(np.clip(contrasts[:, 0], 0.0, 1.0))
        gains = [line.apply(gain) for line, gain in zip(self.gains, contrasts.T[1:], strict=True)]
        return calibrate.bounded(from_contrasts(np.stack([level, *gains], axis=1)))

    def tensors(self) -> dict[str, Floats]:
        """The arrays that `load` needs."""
        level = {f"level.{name}": value for name, value in self.level.tensors().items()}
        return {**level, "gains": np.array([(line.slope, line.shift) for line in self.gains])}


@dataclass(frozen=True, slots=True)
class Blend:
    """`members` by kind, in the order of _KINDS, and the scale that their mean is read on."""

    members: Mapping[str, Head]
    scale: Scale

    def p_good(self, inputs: Inputs) -> Floats:
        """Calibrated P(good), [n, models]; a row's numbers do not depend on its neighbours in the batch."""
        return self.scale.apply(mean_contrasts(self.members, inputs))

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Flat names such as "boosted.limit" and "scale.level.platt"."""
        parts = {
            f"{kind}.{name}": value for kind, head in self.members.items() for name, value in head.tensors().items()
        }
        return {**parts, **{f"scale.{name}": value for name, value in self.scale.tensors().items()}}


def load(tensors: Tensors) -> Blend:
    """The blend that these tensors describe; KeyError where one is missing."""
    kinds = [kind for kind in _KINDS if kind == "kernel" or any(name.startswith(f"{kind}.") for name in tensors)]
    members = {kind: _KINDS[kind].load(under(tensors, f"{kind}.")) for kind in kinds}
    lines = np.asarray(tensors["scale.gains"], np.float64).tolist()
    level = calibrate.load(under(tensors, "scale.level."))
    return Blend(members, Scale(level, [calibrate.Line(slope, shift) for slope, shift in lines]))


def fit_members(inputs: Inputs, targets: Targets) -> dict[str, Head]:
    """Each kind of head that this many rows are enough for, trained on the same rows."""
    kinds = [kind for kind in _KINDS if len(inputs) >= _FROM_ROWS[kind]]
    return {kind: _KINDS[kind].fit(inputs, targets) for kind in kinds}


def fit_scale(contrasts: Floats, targets: Targets) -> Scale:
    """From what members said of rows that they have not seen, and how these turned out."""
    level, *gains = to_contrasts(targets.quality).T
    said, *predicted = contrasts.T
    pairs = zip(predicted, gains, strict=True)
    return Scale(
        calibrate.fit(np.clip(said, 0.0, 1.0), level, targets.weight),
        [calibrate.fit_line(gain, actual, targets.weight) for gain, actual in pairs],
    )


def crossed(contrasts: Floats, targets: Targets) -> Floats:
    """Chances, [n, models], of each fifth of the rows (every fifth one) on a scale that the others gave."""
    part, p_good = np.arange(len(contrasts)) % PARTS, np.zeros_like(contrasts)
    for at in range(PARTS):
        seen, kept = np.nonzero(part != at)[0], np.nonzero(part == at)[0]
        p_good[kept] = fit_scale(contrasts[seen], targets.take(seen)).apply(contrasts[kept])
    return p_good


def mean_contrasts(members: Mapping[str, Head], inputs: Inputs) -> Floats:
    """What the members say on average, [n, models], not yet calibrated."""
    return np.asarray(np.mean([head.contrasts(inputs) for head in members.values()], axis=0), np.float64)


def under(tensors: Tensors, prefix: str) -> dict[str, NDArray[np.generic]]:
    """The tensors whose names begin so, without that beginning."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
