"""Is a text written like those of training? Its letters in threes, and how much of it is repetition, marks, figures …

An encoder gives a vector to anything, and to junk one near to everything; the letters tell junk, logs and other languages at
once. How odd a text is, is the least likely of these numbers: -log of the share of training texts that are as odd.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classifiers.conformal import upper_bound
from classifiers.heads.inputs import Floats
from classifiers.unfamiliar.spelling import COUNTED, KINDS, Look, Spelled

MISS = 0.01
"""Of prompts drawn like those of training, at most this part is taken for odd."""

ASPECTS = ("letters", *COUNTED)

_STRENGTH = 20.0  # of a shorter context beside what was seen: so many letters
_FEW = np.array(
    [15.0, 4.0, 10.0, 15.0, 15.0, 15.0]
)  # so much of a usual text is thought before each: a short one tells little
_KNOTS = np.array([0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002])
_STEPS_A_NAT = 16
_LEAST_SPREAD = 0.1  # between the hundredth text and the five hundredth: where none had an accent, one is no wonder yet
_LEAST_BOUND = 7.0


class Odd(NamedTuple):
    """How odd, and by which of ASPECTS."""

    much: float
    aspect: str


@dataclass(frozen=True, slots=True)
class Oddness:
    """`nats` uint8 [kinds, kinds, kinds]: sixteenths of -log P(third letter after two). `usual` [aspects]; `knots`
    [aspects, 8]: what a half, a fifth … of training texts reach. Beyond `most` a text is odd."""

    nats: NDArray[np.uint8]
    usual: Floats
    knots: Floats
    most: float

    def of(self, look: Look) -> Odd:
        """How odd a text is that looks so."""
        much = self._surprise(Spelled((look,)))[0]
        at = int(np.argmax(much))
        return Odd(float(much[at]), ASPECTS[at])

    def letters(self, look: Look) -> float:
        """How odd its letters alone are."""
        return float(self._surprise(Spelled((look,)))[0, 0])

    def may_be_odd(self, look: Look) -> bool:
        """Whether any number of it is beyond what one training text in five hundred reaches: no others are odd. Some 10 us."""
        flat, few, usual = self.nats.reshape(-1), _FEW.tolist(), self.usual.tolist()
        rows = [
            (float(flat[_places(look.codes)].sum()) / _STEPS_A_NAT, max(0, len(look.codes) - 2)),
            *look.counts.tolist(),
        ]
        rates = ((much + a * b) / (of + a) for (much, of), a, b in zip(rows, few, usual, strict=True))
        return any(rate > most for rate, most in zip(rates, self.knots[:, -1].tolist(), strict=True))

    def all(self, texts: Spelled) -> Floats:
        """How odd each is, [n]."""
        return np.asarray(self._surprise(texts).max(axis=1), np.float64)

    def bounded(self, unseen: Floats) -> "Oddness":
        """The same, so that of texts drawn like these, which it has not seen, at most a hundredth is odd."""
        return replace(self, most=max(_LEAST_BOUND, upper_bound(unseen, 1 - MISS)))

    def widened(self, unseen: Floats) -> "Oddness":
        """The same where these texts, which it has not seen, are usual too."""
        return replace(self, most=max(self.most, upper_bound(unseen, 1 - MISS)))

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that `load` needs."""
        return {"nats": self.nats, "usual": self.usual, "knots": self.knots, "most": np.array([self.most])}

    def _surprise(self, texts: Spelled) -> Floats:
        """-log of the share of training texts that reach so much, [n, aspects]; beyond the last knot a straight line."""
        rows = _rates(texts, self.nats, self.usual)
        return np.stack([_rarity(column, knots) for column, knots in zip(rows.T, self.knots, strict=True)], axis=1)


def load(tensors: Mapping[str, NDArray[np.generic]]) -> Oddness:
    """What these tensors describe; KeyError where one is missing."""
    usual, knots = (np.asarray(tensors[name], np.float64) for name in ("usual", "knots"))
    return Oddness(np.asarray(tensors["nats"], np.uint8), usual, knots, np.asarray(tensors["most"], np.float64).item())


def fit(texts: Spelled, weight: Floats) -> Oddness:
    """Learns what is usual; nothing is odd until it is bounded."""
    nats = _nats(texts, weight)
    sums = _sums(texts, nats)
    share = weight / weight.sum()
    usual = (share @ sums[:, :, 0]) / np.maximum(share @ sums[:, :, 1], 1e-9)
    rows = _rates(texts, nats, usual)
    return Oddness(nats, usual, np.stack([_quantiles(column, share) for column in rows.T]), np.inf)


def _nats(texts: Spelled, weight: Floats) -> NDArray[np.uint8]:
    """Of three letters from those of two and of one (interpolated, after Jelinek and Mercer 1980)."""
    seen = np.zeros(KINDS**3)
    for (codes, _), heavy in zip(texts.looks, weight.tolist(), strict=True):
        np.add.at(seen, _places(codes), heavy)
    three = seen.reshape(KINDS, KINDS, KINDS)
    two = three.sum(axis=0)
    one = (two.sum(axis=0) + 1) / (two.sum() + KINDS)
    after_one = (two + _STRENGTH * one) / (two.sum(axis=1, keepdims=True) + _STRENGTH)
    after_two = (three + _STRENGTH * after_one) / (three.sum(axis=2, keepdims=True) + _STRENGTH)
    return np.asarray(np.clip(np.rint(-np.log(after_two) * _STEPS_A_NAT), 0, 255), np.uint8)


def _places(codes: NDArray[np.uint8]) -> NDArray[np.intp]:
    wide = codes.astype(np.intp)
    return (wide[:-2] * KINDS + wide[1:-1]) * KINDS + wide[2:]


def _sums(texts: Spelled, nats: NDArray[np.uint8]) -> Floats:
    """How much, of how much, [n, aspects, 2]."""
    flat = nats.reshape(-1)
    letters = [(float(flat[_places(codes)].sum()) / _STEPS_A_NAT, max(0, len(codes) - 2)) for codes, _ in texts.looks]
    counted = np.array([counts for _, counts in texts.looks]).reshape(len(letters), len(COUNTED), 2)
    return np.concatenate([np.array(letters, np.float64).reshape(-1, 1, 2), counted], axis=1)


def _rates(texts: Spelled, nats: NDArray[np.uint8], usual: Floats) -> Floats:
    sums = _sums(texts, nats)
    return np.asarray((sums[:, :, 0] + _FEW * usual) / (sums[:, :, 1] + _FEW), np.float64)


def _quantiles(column: Floats, share: Floats) -> Floats:
    """What these parts of the texts reach, the last knots apart even where many texts are alike."""
    order = np.argsort(column)
    reached = column[order][np.minimum(np.searchsorted(np.cumsum(share[order]), 1 - _KNOTS), len(column) - 1)]
    return np.asarray(np.maximum.accumulate(reached + np.arange(len(_KNOTS)) * 1e-6), np.float64)


def _rarity(column: Floats, knots: Floats) -> Floats:
    steps = -np.log(_KNOTS)
    slope = log(_KNOTS[5] / _KNOTS[-1]) / max(_LEAST_SPREAD, knots[-1] - knots[5])
    beyond = steps[-1] + slope * (column - knots[-1])
    return np.asarray(np.where(column > knots[-1], beyond, np.interp(column, knots, steps, left=0.0)), np.float64)
