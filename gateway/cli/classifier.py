"""`turnout train | evaluate`: the difficulty classifier on outcome data."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.terminal import fail, say, show_table
from gateway.extras import needs
from gateway.request.identity import BadSettings
from gateway.settings import Settings

if TYPE_CHECKING:
    from classifiers.report import Report

DataOption = Annotated[Path, typer.Option("--data", help="folder with the outcome files", show_default=False)]
EmbedderOption = Annotated[str | None, typer.Option(help="directory or hub name of another embedder")]


def train(
    data: DataOption,
    out: Annotated[Path, typer.Option("--out", help="folder for the artefact")] = Path("difficulty"),
    embedder: EmbedderOption = None,
    threads: Annotated[int, typer.Option(help="processor threads")] = 2,
) -> None:
    """Train a difficulty classifier and write its artefact, data card and metrics."""
    with needs_classify():
        from classifiers.train import train as run

        today = datetime.now(UTC).date().isoformat()
        cache = Settings().cache_dir
        _show(run(data, out, cache_dir=cache, trained_on=today, embedder=embedder, threads=threads, progress=_progress))
    say(f"written to {out}; name it in a policy with `difficulty: {{artefact: {out}}}`")


def evaluate(
    data: DataOption,
    artefact: Annotated[Path | None, typer.Option(help="artefact folder (default: the shipped one)")] = None,
    split: Annotated[list[str] | None, typer.Option(help="a split to measure; again for more")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="write the table as JSON too")] = None,
    embedder: EmbedderOption = None,
    threads: Annotated[int, typer.Option(help="processor threads")] = 2,
) -> None:
    """Measure routing quality on published outcomes, beside every baseline."""
    with needs_classify():
        from classifiers.evaluate import DEFAULT_SPLITS
        from classifiers.evaluate import evaluate as run
        from classifiers.splits import SPLITS

        if unknown := [name for name in split or () if name not in SPLITS]:
            fail(f"{unknown[0]!r} is not a split; there are {', '.join(SPLITS)}")
        chosen, cache = tuple(split or DEFAULT_SPLITS), Settings().cache_dir
        report = run(
            artefact, data, cache_dir=cache, splits=chosen, embedder=embedder, threads=threads, progress=_progress
        )
    _show(report)
    if json_file is not None:
        report.write(json_file)


@contextmanager
def needs_classify() -> Iterator[None]:
    """Turn what can go wrong into a line that says what to do."""
    try:
        with needs("classify", "this is the classifier's work"):
            from classifiers.artefact import ArtefactRefused
            from classifiers.data import DataMissing
            from classifiers.encoder import EncoderMissing

            try:
                yield
            except (ArtefactRefused, DataMissing, EncoderMissing, OSError) as error:
                fail(str(error), code=1)
    except BadSettings as error:
        fail(str(error), code=1)


def _progress(done: int, total: int) -> None:
    say(f"embedded {done:,} of {total:,} prompts")


def _show(report: "Report") -> None:
    show_table(report.title, report.columns, report.rows)
    for note in report.notes:
        say(note)
