"""Weights of an answer's signals, fitted on answers of which it is known whether they were right."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers.heads import logistic
from policies.escalate.measures import MEASURES
from policies.escalate.plan import Weights
from policies.escalate.prior import PRIOR
from policies.escalate.signals import Signals
from policies.escalate.verdict import log_odds

FEWEST = 50
"""Answers, of which some were right and some wrong."""

RIDGE = 1.0
"""How far a weight may move from the prior: the variance of its Gaussian. From 0.3 to 3 GSM8K's APGR stays within .003."""


class Outcome(msgspec.Struct, frozen=True):
    """One answer: its signals, whether it was right, and what the router thought of the question, if it did."""

    signals: Signals
    right: bool
    p_good: float | None = None


def weigh(outcomes: Sequence[Outcome]) -> Weights:
    """The declared prior, moved by what the answers say. Raises ValueError for fewer than `FEWEST`, or for one kind alone."""
    right = np.array([outcome.right for outcome in outcomes])
    if len(outcomes) < FEWEST or right.all() or not right.any():
        raise ValueError(f"needs at least {FEWEST} answers, some right and some wrong; there are {len(outcomes)}")
    known = [log_odds(o.p_good) for o in outcomes if o.p_good is not None]
    usual = float(np.mean(known)) if known else 0.0
    rows = np.column_stack([measured(outcomes), estimates(outcomes, usual), np.ones(len(outcomes))])
    start = np.array([*(PRIOR.measures.get(name, 0.0) for name in MEASURES), PRIOR.estimate, PRIOR.bias])
    *weights, estimate, bias = [round(float(w), 4) for w in fit(rows, right, start)]
    return Weights(
        bias=bias,
        measures={name: weight for name, weight in zip(MEASURES, weights, strict=True) if weight},
        estimate=estimate,
        usual=round(usual, 4),
    )


def measured(outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
    return np.array([[value(outcome.signals) for _, value in MEASURES.values()] for outcome in outcomes], np.float64)


def estimates(outcomes: Sequence[Outcome], usual: float) -> NDArray[np.float64]:
    return np.array([0.0 if o.p_good is None else log_odds(o.p_good) - usual for o in outcomes], np.float64)


def fit(rows: NDArray[np.float64], right: NDArray[np.bool_], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """The coefficients that make the answers likeliest while they stay near `start`. What the answers say nothing of keeps its
    start. The last column of `rows` is not held back."""
    pull = np.full(len(start), 1 / RIDGE)
    pull[-1] = 0.0
    return logistic.fit(rows, right.astype(np.float64), np.ones(len(rows)), start, pull)
