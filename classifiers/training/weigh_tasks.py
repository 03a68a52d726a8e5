"""Weights of a task: its model's, moved as far as the task's own answers call for, and no further.

A Gaussian around the model's weights holds each of the task's back. How wide it is says how much the task may differ; that is
chosen by answers that were kept back from both, and what is not told from chance counts as no difference.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from classifiers.heads import logistic
from classifiers.heads.logistic import Floats

Words = NDArray[np.str_]

Fit = Callable[[Floats, Floats], Floats]
"""Rows [n, columns] and whether each was right, 0 or 1 [n], to the model's coefficients [columns]."""

VARIANCES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Of the Gaussian. 0: the task has no weights of its own."""

FOLDS = 5
FOR_EACH = 100
"""Answers for a variance of 1, and fewer in proportion: three of three that went wrong are no reason to turn weights around."""


def moved(rows: Floats, right: Floats, tasks: Words, fit: Fit) -> dict[str, Floats]:
    """Coefficients by task, of those whose answers call for their own. A lone task has the model's."""
    names = [str(task) for task in np.unique(tasks)]
    if len(names) < 2:
        return {}
    losses, model = kept_back(rows, right, tasks, fit), fit(rows, right)
    found: dict[str, Floats] = {}
    for task in filter(None, names):
        of_task = tasks == task
        if variance := chosen(losses[:, of_task]):
            found[task] = near(model, variance, rows[of_task], right[of_task])
    return found


def chosen(losses: Floats) -> float:
    """The least variance that is not worse than the best one, as far as that can be told: within a standard error of the
    difference (Breiman et al., Classification and Regression Trees, section 3.4.3). `losses` [variances, answers]."""
    count = losses.shape[1]
    allowed = losses[np.array(VARIANCES) <= count / FOR_EACH]
    behind = allowed - allowed[allowed.mean(axis=1).argmin()]
    noise = behind.std(axis=1) / np.sqrt(count)
    return VARIANCES[int(np.argmax(behind.mean(axis=1) <= noise))]


def kept_back(rows: Floats, right: Floats, tasks: Words, fit: Fit) -> Floats:
    """The loss of each answer by the weights that each variance gives its task, [variances, n], made without a fifth of the
    answers that it is of."""
    losses, fold = np.empty((len(VARIANCES), len(right))), np.arange(len(right)) % FOLDS
    for k in range(FOLDS):
        out = fold == k
        model = fit(rows[~out], right[~out])
        for task in np.unique(tasks[out]):
            seen, tried = ~out & (tasks == task), out & (tasks == task)
            for at, variance in enumerate(VARIANCES):
                own = near(model, variance, rows[seen], right[seen])
                losses[at, tried] = loss(rows[tried] @ own, right[tried])
    return losses


def near(model: Floats, variance: float, rows: Floats, right: Floats) -> Floats:
    """The coefficients that make the answers likeliest while they stay near the model's."""
    if not variance:
        return model
    return logistic.fit(rows, right, np.ones(len(rows)), model, np.full(len(model), 1 / variance))


def loss(odds: Floats, right: Floats) -> Floats:
    """The cross entropy of each answer with these log-odds, in nats, [n]."""
    return np.asarray(np.logaddexp(0.0, odds) - right * odds, np.float64)
