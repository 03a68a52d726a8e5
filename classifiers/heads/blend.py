"""The shipped head: the mean of three unlike heads, calibrated. Each alone is weaker somewhere; README has the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from classifiers import calibrate
from classifiers.calibrate import Calibrator
from classifiers.heads import boosted, logistic, words
from classifiers.heads.inputs import HEADS, Floats, Inputs, Targets

Tensors = Mapping[str, NDArray[np.generic]]


class Head(Protocol):
    """One way from inputs to chances."""

    def chances(self, inputs: Inputs) -> Floats:
        """P(good), [n, 2], columns as HEADS."""

    def tensors(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything needed to answer alike after a restart."""


_KINDS = {"logistic": logistic, "boosted": boosted, "words": words}


@dataclass(frozen=True, slots=True)
class Blend:
    """`members` by kind, in the order of _KINDS; one calibrator per column of HEADS."""

    members: Mapping[str, Head]
    calibrators: Sequence[Calibrator]

    def p_good(self, inputs: Inputs) -> Floats:
        """Calibrated P(good), [n, 2]; a row's numbers do not depend on its neighbours in the batch."""
        raw = raw_chances(self.members, inputs)
        return np.stack([fit.apply(column) for fit, column in zip(self.calibrators, raw.T, strict=True)], axis=1)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Flat names such as "boosted.limit" and "calibration.small.platt"."""
        parts = {
            f"{kind}.{name}": value for kind, head in self.members.items() for name, value in head.tensors().items()
        }
        for head, calibrator in zip(HEADS, self.calibrators, strict=True):
            parts |= {f"calibration.{head}.{name}": value for name, value in calibrator.tensors().items()}
        return parts


def load(tensors: Tensors) -> Blend:
    """The blend that these tensors describe; KeyError where one is missing."""
    members = {kind: module.load(_under(tensors, f"{kind}.")) for kind, module in _KINDS.items()}
    return Blend(members, [calibrate.load(_under(tensors, f"calibration.{head}.")) for head in HEADS])


def fit_members(inputs: Inputs, targets: Targets) -> dict[str, Head]:
    """Each kind of head, trained on the same rows."""
    return {kind: module.fit(inputs, targets) for kind, module in _KINDS.items()}


def fit_calibrators(members: Mapping[str, Head], inputs: Inputs, targets: Targets) -> list[Calibrator]:
    """One calibrator per column, on rows that the members have not seen."""
    raw = raw_chances(members, inputs)
    columns = zip(raw.T, targets.quality.T, strict=True)
    return [calibrate.fit(chance, quality, targets.weight) for chance, quality in columns]


def raw_chances(members: Mapping[str, Head], inputs: Inputs) -> Floats:
    """The members' mean, not yet calibrated."""
    return np.asarray(np.mean([head.chances(inputs) for head in members.values()], axis=0), dtype=np.float64)


def _under(tensors: Tensors, prefix: str) -> dict[str, NDArray[np.generic]]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
