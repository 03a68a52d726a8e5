"""Does it pay to weigh a task's answers by weights of its own? Both ways of weighing, on answers that neither has seen."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers.heads.logistic import Floats
from classifiers.measuring.metrics import auc
from classifiers.training.weigh import Answers, Outcome, arrayed, fit
from classifiers.training.weigh_tasks import FOLDS, loss, moved
from policies.escalate.task import TASKS, Task


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Of a task's answers, or of all ("" for a task): how many there are, the share that is right, and by the model's weights
    and by the task's own the cross entropy in nats an answer, and the AUC."""

    task: Task
    answers: int
    right: float
    loss: float
    loss_own: float
    auc: float
    auc_own: float


def told(outcomes: Sequence[Outcome]) -> Iterator[Told]:
    """Of all answers of a model, and of each task. Raises ValueError as `weigh` does."""
    answers = arrayed(outcomes)
    odds = kept_back(answers)
    yield told_of("", answers, odds, np.full(len(answers.right), True))
    for task in TASKS:
        if (of_task := answers.tasks == task).any():
            yield told_of(task, answers, odds, of_task)


def told_of(task: Task, answers: Answers, odds: tuple[Floats, Floats], rows: NDArray[np.bool_]) -> Told:
    right = answers.right[rows]
    by_model, by_task = (of[rows] for of in odds)
    return Told(
        task=task,
        answers=len(right),
        right=float(right.mean()),
        loss=float(loss(by_model, right).mean()),
        loss_own=float(loss(by_task, right).mean()),
        auc=auc(by_model, right > 0),
        auc_own=auc(by_task, right > 0),
    )


def kept_back(answers: Answers) -> tuple[Floats, Floats]:
    """Log-odds of each answer by the model's weights, and by its task's, fitted on four fifths that it is not of."""
    rows, right = answers.rows, answers.right
    by_model, by_task = np.empty(len(right)), np.empty(len(right))
    fold = np.arange(len(right)) % FOLDS
    for k in range(FOLDS):
        out = fold == k
        model = fit(rows[~out], right[~out])
        own = moved(rows[~out], right[~out], answers.tasks[~out], fit)
        by_model[out] = rows[out] @ model
        by_task[out] = [row @ own.get(task, model) for row, task in zip(rows[out], answers.tasks[out], strict=True)]
    return by_model, by_task
