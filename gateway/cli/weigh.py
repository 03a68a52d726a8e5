"""`turnout weigh`: from answers of which it is known whether they were right to the weights of an escalation's signals."""

import csv
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, cast, get_args

import typer

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

    Columns: prompt, response, correct (0 or 1); where known model, finish (stop, length, ...), p_good, and logprobs (natural
    logarithms, spaces between them).
    """
    from classifiers.training.weigh import weigh as fitted

    answers: dict[str, list[Outcome]] = {}
    for model, outcome in read_answers(data):
        answers.setdefault(model, []).append(outcome)
    try:
        models = {model: fitted(outcomes) for model, outcomes in answers.items()}
    except ValueError as error:
        fail(f"{data}: {error}", code=1)
    counts = {f"answers of {model or 'any model'}": float(len(known)) for model, known in answers.items()}
    out.write_bytes(write_weights(models, {"fitted_on": datetime.now(UTC).date().isoformat(), **counts}))
    rows = [
        (model or "any", name, f"{w:+.2f}") for model, known in models.items() for name, w in known.measures.items()
    ]
    show_table("what each signal adds to the log-odds of being right", ("model", "signal", "weight"), rows)
    say(f"written to {out}; name it in an escalation with `weights: {out}`")


def read_answers(path: Path) -> "Iterator[tuple[str, Outcome]]":
    """Model and outcome of each row. Ends the command for a file that cannot be read."""
    from classifiers.training.weigh import Outcome

    with opened(path) as file:
        rows = csv.DictReader(file)
        missing = [column for column in NEEDED if column not in (rows.fieldnames or ())]
        if missing:
            fail(f"{path} has no column {missing[0]}; it needs {', '.join(NEEDED)}", code=1)
        for number, row in enumerate(rows, 2):
            try:
                right, p_good = float(row["correct"]) >= 0.5, float(row["p_good"]) if row.get("p_good") else None
                yield (
                    row.get("model") or "",
                    Outcome(signals_of(said(row), Wanted(question=row["prompt"])), right, p_good),
                )
            except ValueError as error:
                fail(f"{path}:{number} {error}", code=1)


def opened(path: Path) -> TextIO:
    try:
        return path.open(encoding="utf-8", newline="")
    except OSError as error:
        fail(f"{path} cannot be read: {error}", code=1)


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
