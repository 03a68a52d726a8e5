"""What the commands of the difficulty classifier share: options, where outcomes come from, and what can go wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.decisions import readable
from gateway.cli.terminal import fail, in_words, say
from gateway.decisions.lessons import lessons
from gateway.decisions.read import read_log
from gateway.decisions.replay import policies_beside
from gateway.extras import needs
from gateway.settings import BadSettings

if TYPE_CHECKING:
    from classifiers.training.lessons import Lessons

OwnDataOption = Annotated[
    Path | None, typer.Option("--data", help="CSV of own outcomes; to train, also the folder of published tables")
]
FromLogOption = Annotated[
    Path | None,
    typer.Option("--from-log", help="a log of decisions with feedback, escalations or shadows, in place of --data"),
]
OutOption = Annotated[Path, typer.Option("--out", help="folder for the artefact")]
ArtefactOption = Annotated[Path | None, typer.Option(help="artefact folder (default: the shipped one)")]
EmbedderOption = Annotated[str | None, typer.Option(help="directory or hub name of another embedder")]
ThreadsOption = Annotated[int, typer.Option(help="processor threads", min=1)]
ResamplesOption = Annotated[int, typer.Option(help="bootstrap resamples for the intervals", min=1)]


def one_source(data: Path | None, log: Path | None) -> Path | None:
    """The file of outcomes, or None where a log is named."""
    if (data is None) == (log is None):
        fail("name either --data or --from-log")
    return data


def taught_by(log: Path | None) -> "Lessons":
    assert log is not None
    name = log.name.encode(errors="replace").decode()  # it may hold bytes that no JSON can
    with readable():
        return lessons(lambda: read_log(log), policies_beside(log), name)


@contextmanager
def needs_classify() -> Iterator[None]:
    """Turn what can go wrong into a line that says what to do."""
    try:
        with needs("classify", "this is the classifier's work"):
            from classifiers.artefact import ArtefactRefused
            from classifiers.embedding.encoder import EncoderMissing
            from classifiers.outcomes.data import DataMissing
            from classifiers.outcomes.own import OutcomesRefused

            try:
                yield
            except (ArtefactRefused, DataMissing, EncoderMissing, OutcomesRefused, OSError) as error:
                fail(in_words(error), code=1)
    except BadSettings as error:
        fail(str(error), code=1)


def say_written(out: Path) -> None:
    say(f"written to {out}; name it in a policy with `difficulty: {{artefact: {out}}}`")


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def progress(done: int, total: int) -> None:
    say(f"embedded {done:,} of {total:,} prompts")
