"""Weights of an answer's signals, fitted on answers of which it is known whether they were right: for a model, and for each
task of it."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from classifiers.heads import logistic
from classifiers.heads.logistic import Floats
from classifiers.training.weigh_tasks import Words, moved
from policies.escalate.measures import MEASURES
from policies.escalate.plan import Weights
from policies.escalate.prior import PRIOR
from policies.escalate.task import TASKS, Task
from policies.escalate.verdict import log_odds

FEWEST = 50
"""Answers, of which some were right and some wrong."""

RIDGE = 1.0
"""How far a weight may move from the prior: the variance of its Gaussian. From 0.3 to 3 GSM8K's APGR stays within .003."""


class Outcome(msgspec.Struct, frozen=True):
    """One answer: what `measures_of` makes of its signals, whether it was right, what the router thought of the question, if it
    did, and what form of answer that asks for."""

    measures: Mapping[str, float]
    right: bool
    p_good: float | None = None
    task: Task = ""


class Answers(msgspec.Struct, frozen=True):
    """Of one model: `rows` [n, columns] of measures, the router's estimate as far as it lies from `usual` log-odds, and 1;
    `right` [n] is 0 or 1."""

    rows: Floats
    right: Floats
    tasks: Words
    usual: float


def weigh(outcomes: Sequence[Outcome]) -> Weights:
    """The declared prior, moved by what the answers say; and that, moved by what those of each task say. Raises ValueError for
    fewer than `FEWEST`, or for one kind alone."""
    answers = arrayed(outcomes)
    model = weights(fit(answers.rows, answers.right), answers.usual)
    tasks = moved(answers.rows, answers.right, answers.tasks, fit)
    return msgspec.structs.replace(
        model, tasks={task: weights(tasks[task], answers.usual) for task in TASKS if task in tasks}
    )


def arrayed(outcomes: Sequence[Outcome]) -> Answers:
    """Raises ValueError."""
    right = np.array([outcome.right for outcome in outcomes], np.float64)
    if len(outcomes) < FEWEST or right.all() or not right.any():
        raise ValueError(f"needs at least {FEWEST} answers, some right and some wrong; there are {len(outcomes)}")
    known = [log_odds(o.p_good) for o in outcomes if o.p_good is not None]
    usual = round(float(np.mean(known)), 4) if known else 0.0
    measured = np.array([[outcome.measures.get(name, 0.0) for name in MEASURES] for outcome in outcomes], np.float64)
    estimates = np.array([0.0 if o.p_good is None else log_odds(o.p_good) - usual for o in outcomes], np.float64)
    rows = np.column_stack([measured, estimates, np.ones(len(outcomes))])
    return Answers(rows, right, np.array([outcome.task for outcome in outcomes]), usual)


def fit(rows: Floats, right: Floats) -> Floats:
    """The coefficients that make the answers likeliest while they stay near the prior. What the answers say nothing of keeps
    its prior. The last one, how often answers are right, is not held back."""
    pull = np.full(rows.shape[1], 1 / RIDGE)
    pull[-1] = 0.0
    return logistic.fit(rows, right, np.ones(len(rows)), coefficients(PRIOR), pull)


def coefficients(known: Weights) -> Floats:
    return np.array([*(known.measures.get(name, 0.0) for name in MEASURES), known.estimate, known.bias])


def weights(found: Floats, usual: float) -> Weights:
    *measures, estimate, bias = [round(weight, 4) for weight in found.tolist()]
    named = {name: weight for name, weight in zip(MEASURES, measures, strict=True) if weight}
    return Weights(bias=bias, measures=named, estimate=estimate, usual=usual)
