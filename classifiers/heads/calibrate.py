"""From a score to a probability: Platt's sigmoid or an isotonic staircase, whichever predicts held-out rows better; and
from a predicted gain to an expected one by a line, which never changes who gains more."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from classifiers.heads import logistic
from classifiers.heads.logistic import sigmoid
from classifiers.measuring.metrics import log_loss

Floats = NDArray[np.float64]
_FLOOR = 0.005  # nobody has seen enough prompts of one kind to be surer than this
_ISOTONIC_FROM_ROWS = 500
_WORTH_NATS = 0.002  # isotonic makes ties, and a threshold can't cut through a tie: it must earn its place

_LEAST_SLOPE = 0.05
_SLOPE_SPREAD = 0.5  # how far from 1 a slope is thought to be before any row is seen


class Calibrator(Protocol):
    """A monotone map from chances to chances."""

    def apply(self, chance: Floats) -> Floats:
        """Calibrated chances, same shape, within 0.005 .. 0.995, never decreasing in `chance`."""

    def tensors(self) -> dict[str, Floats]:
        """The arrays that `load` needs."""


Fitter = Callable[[Floats, Floats, Floats], Calibrator]


@dataclass(frozen=True, slots=True)
class Platt:
    """P = sigmoid(slope · logit(chance) + shift). Platt 1999, on logits rather than margins; slope is never negative."""

    slope: float
    shift: float

    def apply(self, chance: Floats) -> Floats:
        return bounded(sigmoid(self.slope * logit(chance) + self.shift))

    def tensors(self) -> dict[str, Floats]:
        return {"platt": np.array([self.slope, self.shift])}


@dataclass(frozen=True, slots=True)
class Isotonic:
    """Straight lines between knots; `y` never decreases along `x`. Zadrozny and Elkan 2002."""

    x: Floats
    y: Floats

    def apply(self, chance: Floats) -> Floats:
        return bounded(np.interp(chance, self.x, self.y))

    def tensors(self) -> dict[str, Floats]:
        return {"isotonic_x": self.x, "isotonic_y": self.y}


@dataclass(frozen=True, slots=True)
class Line:
    """slope · gain + shift; slope is at least 0.05, so that who gains more stays told."""

    slope: float
    shift: float

    def apply(self, gain: Floats) -> Floats:
        """Expected gains, same shape, in the same order."""
        return np.asarray(self.slope * gain + self.shift, np.float64)


def load(tensors: Mapping[str, NDArray[np.generic]]) -> Calibrator:
    """The calibrator that these tensors describe."""
    if "platt" in tensors:
        slope, shift = np.asarray(tensors["platt"], np.float64).tolist()
        return Platt(slope, shift)
    return Isotonic(np.asarray(tensors["isotonic_x"], np.float64), np.asarray(tensors["isotonic_y"], np.float64))


def fit(chance: Floats, quality: Floats, weight: Floats) -> Calibrator:
    """Platt, unless there are at least 500 rows and isotonic is better by 0.002 nats on the half it did not see.

    `chance` and `quality` are 0..1 and belong to rows that the head was not trained on.
    """
    if len(chance) >= _ISOTONIC_FROM_ROWS:
        half = np.arange(len(chance)) % 2 == 0
        losses = [_crossed(fitter, chance, quality, weight, half) for fitter in (fit_platt, fit_isotonic)]
        if losses[1] < losses[0] - _WORTH_NATS:
            return fit_isotonic(chance, quality, weight)
    return fit_platt(chance, quality, weight)


def fit_platt(chance: Floats, quality: Floats, weight: Floats) -> Platt:
    """The least weighted cross entropy, with a weak pull towards the identity. Where chances tell the reverse of what came,
    they tell nothing: the slope is 0 and the shift that of the mean."""
    ones = np.ones_like(chance)
    slope, shift = _fit(np.stack([logit(chance), ones], axis=1), quality, weight, [1.0, 0.0], [1.0, 0.01])
    if slope >= 0:
        return Platt(slope, shift)
    (shift,) = _fit(ones[:, None], quality, weight, [0.0], [0.01])
    return Platt(0.0, shift)


def fit_line(gain: Floats, actual: Floats, weight: Floats) -> Line:
    """Weighted least squares, the slope pulled towards 1: few rows don't tell a slope, for gains are mostly noise."""
    share = weight / weight.sum()
    centre, mean = float(share @ gain), float(share @ actual)
    x, y = gain - centre, actual - mean
    noise = float(share @ y**2) + 1e-9
    pull = noise / _SLOPE_SPREAD**2
    slope = max(_LEAST_SLOPE, float((weight @ (x * y) + pull) / (weight @ (x * x) + pull)))
    return Line(slope, mean - slope * centre)


def fit_isotonic(chance: Floats, quality: Floats, weight: Floats) -> Isotonic:
    """Pool adjacent violators, by scikit-learn."""
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(chance, quality, sample_weight=weight)
    return Isotonic(np.asarray(model.X_thresholds_, np.float64), np.asarray(model.y_thresholds_, np.float64))


def logit(chance: Floats) -> Floats:
    """log(p / (1 - p)), of chances kept within 0.005 .. 0.995 so that it stays finite."""
    p = bounded(chance)
    return np.asarray(np.log(p) - np.log1p(-p), dtype=np.float64)


def bounded(chance: Floats) -> Floats:
    """Chances kept within 0.005 .. 0.995."""
    return np.asarray(np.clip(chance, _FLOOR, 1 - _FLOOR), dtype=np.float64)


def _crossed(fitter: Fitter, chance: Floats, quality: Floats, weight: Floats, half: NDArray[np.bool_]) -> float:
    losses = []
    for seen in (half, ~half):
        calibrator = fitter(chance[seen], quality[seen], weight[seen])
        losses.append(log_loss(calibrator.apply(chance[~seen]), quality[~seen]))
    return float(np.mean(losses))


def _fit(rows: Floats, quality: Floats, weight: Floats, start: Sequence[float], pull: Sequence[float]) -> list[float]:
    found = logistic.fit(rows, quality, weight, np.array(start), np.array(pull))
    return [float(coefficient) for coefficient in found]
