"""`turnout weigh`: from answers of which it is known whether they were right to the weights of an escalation's signals."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from gateway.cli.classifier import today
from gateway.cli.results import writable
from gateway.cli.terminal import fail, say, show_table
from policies.escalate.said import Ending, Said, Wanted
from policies.escalate.signals import signals_of
from policies.escalate.weights_file import write_weights

if TYPE_CHECKING:
    from classifiers.training.weigh import Outcome

NEEDED = ("prompt", "response", "correct")
CHARACTERS_PER_TOKEN = 4


def weigh(
    data: Annotated[Path, typer.Option("--data", help="CSV of answers", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="the file to write")] = Path("weights.json"),
) -> None:
    """Fit the weights of an escalation's signals, for each model, on answers that were right or wrong.

    Columns: prompt, response, correct (0 to 1; from 0.5 on it is right); where known model, finish (stop, length, ...),
    p_good, and logprobs (natural logarithms, spaces between them).
    """
    from classifiers.files import write_whole
    from classifiers.training.weigh import weigh as fitted

    if out.is_dir():
        fail(f"--out {out} is a folder, and a file is needed", code=1)
    answers: dict[str, list[Outcome]] = {}
    with writable(out.parent, "--out"):
        for model, outcome in read_answers(data):
            answers.setdefault(model, []).append(outcome)
        try:
            models = {model: fitted(outcomes) for model, outcomes in answers.items()}
        except ValueError as error:
            fail(f"{data}: {error}", code=1)
        counts = {f"answers of {model or 'any model'}": float(len(known)) for model, known in answers.items()}
        write_whole({out: write_weights(models, {"fitted_on": today(), **counts})})
    rows = [
        (model or "any", name, f"{w:+.2f}") for model, known in models.items() for name, w in known.measures.items()
    ]
    show_table("what each signal adds to the log-odds of being right", ("model", "signal", "weight"), rows)
    say(f"written to {out}; name it in an escalation with `weights: {out}`")


def read_answers(path: Path) -> "Iterator[tuple[str, Outcome]]":
    """Model and outcome of each row. Ends the command for a file that cannot be read."""
    from classifiers.outcomes.own import OutcomesRefused, rows_of
    from classifiers.training.weigh import Outcome

    try:
        for line, row in rows_of(path, NEEDED):
            try:
                right, p_good = chance(row, "correct") >= 0.5, chance(row, "p_good") if row.get("p_good") else None
                signals = signals_of(said(row), Wanted(question=row["prompt"]))
            except ValueError as error:
                fail(f"{path}:{line} {error}", code=1)
            yield row.get("model", ""), Outcome(signals, right, p_good)
    except OutcomesRefused as error:
        fail(str(error), code=1)


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
