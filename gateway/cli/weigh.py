"""`turnout weigh`: from answers of which it is known whether they were right to the weights of an escalation's signals."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from gateway.cli.classifier import one_source, today
from gateway.cli.decisions import readable
from gateway.cli.results import writable
from gateway.cli.terminal import fail, say, show_table
from gateway.decisions.answers import answers as judged_in
from gateway.decisions.read import read_log
from gateway.decisions.replay import policies_beside
from policies.escalate.measures import MEASURES, measures_of
from policies.escalate.plan import Weights
from policies.escalate.said import Ending, Said, Wanted
from policies.escalate.signals import signals_of
from policies.escalate.task import TASKS, Task, task_of
from policies.escalate.weights_file import write_weights

if TYPE_CHECKING:
    from classifiers.training.weigh import Outcome
    from classifiers.training.weigh_told import Told

NEEDED = ("prompt", "response", "correct")
CHARACTERS_PER_TOKEN = 4


def weigh(
    data: Annotated[Path | None, typer.Option("--data", help="CSV of answers")] = None,
    out: Annotated[Path, typer.Option("--out", help="the file to write")] = Path("weights.json"),
    from_log: Annotated[
        Path | None, typer.Option("--from-log", help="a log of decisions with feedback, in place of --data")
    ] = None,
) -> None:
    """Fit the weights of an escalation's signals, for each model and each task, on answers that were right or wrong.

    Columns: prompt, response, correct (0 to 1; from 0.5 on it is right); where known model, finish (stop, length, ...),
    p_good, logprobs (natural logarithms, spaces between them), and task (tools, json, choice, code, number, text; else the
    prompt tells). A log has the answers that were judged and sent, as far as callers said something of them.
    """
    from classifiers.files import write_whole
    from classifiers.training.weigh import weigh as fitted
    from classifiers.training.weigh_told import told

    if out.is_dir():
        fail(f"--out {out} is a folder, and a file is needed", code=1)
    source = one_source(data, from_log)
    by_model: dict[str, list[Outcome]] = {}
    with writable(out.parent, "--out"):
        for model, outcome in read_answers(source) if source is not None else logged(from_log):
            by_model.setdefault(model, []).append(outcome)
        try:
            models = {model: fitted(known) for model, known in by_model.items()}
            comparisons = [(model, of) for model, known in by_model.items() for of in told(known)]
        except ValueError as error:
            fail(f"{source or from_log}: {error}", code=1)
        if not models:
            fail(f"{source or from_log} has no answers of which it is known whether they were right", code=1)
        counts = {f"answers of {model or 'any model'}": float(len(known)) for model, known in by_model.items()}
        write_whole({out: write_weights(models, {"fitted_on": today(), **counts})})
    show_weights(models)
    show_comparisons(models, comparisons)
    say(f"written to {out}; name it in an escalation with `weights: {out}`")


def show_weights(models: Mapping[str, Weights]) -> None:
    """A column for each task that has weights of its own somewhere."""
    tasks = [task for task in TASKS if any(task in known.tasks for known in models.values())]
    rows = [
        (model or "any", name, *(spelt(of, name) for of in (known, *(known.tasks.get(task) for task in tasks))))
        for model, known in models.items()
        for name in MEASURES
        if any(name in of.measures for of in (known, *known.tasks.values()))
    ]
    show_table("what each signal adds to the log-odds of being right", ("model", "signal", "weight", *tasks), rows)


def spelt(weights: Weights | None, name: str) -> str:
    return "" if weights is None else f"{weights.measures.get(name, 0.0):+.2f}"


def show_comparisons(models: Mapping[str, Weights], comparisons: Iterable[tuple[str, "Told"]]) -> None:
    rows = [
        (
            model or "any", of.task or "all", str(of.answers), f"{of.right:.0%}", f"{of.loss:.4f}", f"{of.loss_own:.4f}",
            f"{of.auc:.3f}", f"{of.auc_own:.3f}", "its own" if of.task in models[model].tasks else "",
        )
        for model, of in comparisons
    ]  # fmt: skip
    head = ("model", "task", "answers", "right", "log loss", "with tasks", "AUC", "with tasks", "weights")
    show_table("by the model's weights alone, and with those of tasks, on answers kept back", head, rows)


def logged(log: Path | None) -> "Iterator[tuple[str, Outcome]]":
    assert log is not None
    with readable():
        yield from judged_in(lambda: read_log(log), policies_beside(log))


def read_answers(path: Path) -> "Iterator[tuple[str, Outcome]]":
    """Model and outcome of each row. Ends the command for a file that cannot be read."""
    from classifiers.outcomes.own import OutcomesRefused, rows_of

    try:
        for line, row in rows_of(path, NEEDED):
            try:
                outcome = outcome_of(row)
            except ValueError as error:
                fail(f"{path}:{line} {error}", code=1)
            yield row.get("model", ""), outcome
    except OutcomesRefused as error:
        fail(str(error), code=1)


def outcome_of(row: Mapping[str, str]) -> "Outcome":
    """Raises ValueError."""
    from classifiers.training.weigh import Outcome

    named = row.get("task", "")
    if named and named not in TASKS:
        raise ValueError(f"task {named!r} is none of {', '.join(TASKS)}")
    wanted = Wanted(question=row["prompt"], json=named == "json")
    task = cast(Task, named) if named else task_of(wanted)
    right, p_good = chance(row, "correct") >= 0.5, chance(row, "p_good") if row.get("p_good") else None
    return Outcome(measures_of(signals_of(said(row), wanted)), right, p_good, task)


def chance(row: Mapping[str, str], column: str) -> float:
    """Raises ValueError."""
    try:
        value = float(row[column])
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"{column} is {row[column]!r}; a number from 0 to 1 is expected")
    return value


def said(row: Mapping[str, str]) -> Said:
    """Raises ValueError. `logprobs`: natural logarithms, with spaces between them."""
    finish = row.get("finish") or "stop"
    if finish not in get_args(Ending):
        raise ValueError(f"finish {finish!r} is none of {', '.join(filter(None, get_args(Ending)))}")
    logprobs = tuple([float(value) for value in (row.get("logprobs") or "").split()])
    if not all(map(math.isfinite, logprobs)):
        raise ValueError("logprobs should be numbers")
    tokens = len(logprobs) or len(row["response"]) // CHARACTERS_PER_TOKEN
    return Said(text=row["response"], logprobs=logprobs, tokens=tokens, ending=cast(Ending, finish))
