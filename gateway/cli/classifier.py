"""`turnout train | score | evaluate | compare | calibrate`: the difficulty classifier on outcome data."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from gateway.cli.decisions import readable
from gateway.cli.terminal import fail, say, show_table
from gateway.decisions.lessons import lessons
from gateway.decisions.read import read_log
from gateway.decisions.replay import policies_beside
from gateway.extras import needs
from gateway.settings import BadSettings, Settings

if TYPE_CHECKING:
    from classifiers.measuring.curves import Curves
    from classifiers.measuring.report import Report
    from classifiers.training.from_log import Lessons

DataOption = Annotated[
    Path, typer.Option("--data", help="CSV of own outcomes, or the folder of published tables", show_default=False)
]
CsvOption = Annotated[
    Path, typer.Option("--data", help="CSV with prompt_id, prompt and <model>_correct columns", show_default=False)
]
OwnDataOption = Annotated[
    Path | None, typer.Option("--data", help="CSV of own outcomes; to train, also the folder of published tables")
]
FromLogOption = Annotated[
    Path | None, typer.Option("--from-log", help="a log of decisions with feedback or escalations, in place of --data")
]
OutOption = Annotated[Path, typer.Option("--out", help="folder for the artefact")]
ArtefactOption = Annotated[Path | None, typer.Option(help="artefact folder (default: the shipped one)")]
EmbedderOption = Annotated[str | None, typer.Option(help="directory or hub name of another embedder")]
ThreadsOption = Annotated[int, typer.Option(help="processor threads", min=1)]
ResamplesOption = Annotated[int, typer.Option(help="bootstrap resamples for the intervals", min=1)]
PlotsOption = Annotated[
    Path | None, typer.Option(help="folder for reliability.png, deferral.png and frontier.png (with a CSV)")
]
SmallCostOption = Annotated[
    float, typer.Option(help="for frontier.png: a small call's price as a part of a large one's", min=0.0, max=1.0)
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON instead of a table")]


def train(
    data: OwnDataOption = None,
    out: OutOption = Path("difficulty"),
    from_log: FromLogOption = None,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Train a difficulty classifier, on outcomes or on a log of decisions, and write its artefact, data card and metrics."""
    with needs_classify():
        data = one_source(data, from_log)
        if data is None:
            from classifiers.training.from_log import train_from_log

            return _finish(
                train_from_log(
                    taught_by(from_log), out, cache_dir=Settings().cache_dir, trained_on=_today(), embedder=embedder,
                    threads=threads, progress=_progress,
                ),
                out,
            )  # fmt: skip
        from classifiers.training.own import train_own
        from classifiers.training.shipped import train as train_shipped

        run = train_shipped if data.is_dir() else train_own
        _finish(
            run(
                data, out, cache_dir=Settings().cache_dir, trained_on=_today(), embedder=embedder, threads=threads,
                progress=_progress,
            ),
            out,
        )  # fmt: skip


def score(
    data: Annotated[Path, typer.Option("--data", help="CSV with prompt_id and prompt", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="CSV to write: prompt_id, score, p_good per model")],
    artefact: ArtefactOption = None,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Score prompts: the predicted gain of the large model over the small one, higher means send to large."""
    with needs_classify():
        from classifiers.artefact import SHIPPED
        from classifiers.measuring.score import score as run

        cache = Settings().cache_dir
        written = run(
            artefact or SHIPPED, data, out, cache_dir=cache, embedder=embedder, threads=threads, progress=_progress
        )
    say(f"{written:,} scores written to {out}")


def evaluate(
    data: DataOption,
    artefact: ArtefactOption = None,
    split: Annotated[list[str] | None, typer.Option(help="with published tables: a split; again for more")] = None,
    json: JsonOption = False,
    plots: PlotsOption = None,
    small_cost: SmallCostOption = 0.1,
    resamples: ResamplesOption = 200,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Measure routing quality on outcomes, beside every baseline and the oracle."""
    if plots and data.is_dir():
        fail("--plots draws one set of outcomes: give --data a CSV")
    with needs_classify(), needs_plots(plots):
        if data.is_dir():
            _evaluate_published(data, artefact, split, json, embedder, threads)
            return
        from classifiers.measuring.measure import measure

        measured = measure(
            artefact, data, cache_dir=Settings().cache_dir, embedder=embedder, threads=threads, resamples=resamples,
            progress=_progress,
        )  # fmt: skip
        if plots:
            _draw(measured.curves, plots, small_cost)
    _give(measured, measured.report(), json)


def compare(
    first: Annotated[Path, typer.Argument(help="artefact folder")],
    second: Annotated[Path, typer.Argument(help="artefact folder")],
    data: CsvOption,
    json: JsonOption = False,
    resamples: ResamplesOption = 500,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Compare two artefacts on the same prompts by a paired bootstrap."""
    with needs_classify():
        from classifiers.measuring.compare import compare as run

        compared = run(
            first, second, data, cache_dir=Settings().cache_dir, embedder=embedder, threads=threads,
            resamples=resamples, progress=_progress,
        )  # fmt: skip
    _give(compared, compared.report(), json)


def calibrate(
    data: OwnDataOption = None,
    out: OutOption = Path("difficulty"),
    from_log: FromLogOption = None,
    artefact: ArtefactOption = None,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Put an artefact on the scale of local outcomes, or of a log's; a few hundred are enough."""
    with needs_classify():
        data = one_source(data, from_log)
        if data is None:
            from classifiers.training.from_log import calibrate_from_log

            told = calibrate_from_log(artefact, taught_by(from_log), out, trained_on=_today(), embedder=embedder)
            return _finish(told, out)
        from classifiers.training.recalibrate import recalibrate

        _finish(
            recalibrate(
                artefact, data, out, cache_dir=Settings().cache_dir, trained_on=_today(), embedder=embedder,
                threads=threads, progress=_progress,
            ),
            out,
        )  # fmt: skip


def one_source(data: Path | None, log: Path | None) -> Path | None:
    """The file of outcomes, or None where a log is named."""
    if (data is None) == (log is None):
        fail("name either --data or --from-log")
    return data


def taught_by(log: Path | None) -> "Lessons":
    assert log is not None
    with readable():
        return lessons(lambda: read_log(log), policies_beside(log), log.name)


def _finish(report: "Report", out: Path) -> None:
    _show(report)
    say(f"written to {out}; name it in a policy with `difficulty: {{artefact: {out}}}`")


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
                fail(str(error), code=1)
    except BadSettings as error:
        fail(str(error), code=1)


@contextmanager
def needs_plots(wanted: Path | None) -> Iterator[None]:
    """Before anything is computed: is there a matplotlib for what shall be drawn?"""
    if wanted:
        try:
            with needs("plots", f"{wanted} is to be drawn"):
                import_module("matplotlib")
        except BadSettings as error:
            fail(str(error), code=1)
    yield


def _draw(curves: "Curves", folder: Path, small_cost: float) -> None:
    from classifiers.measuring.plots import draw

    for path in draw(curves, folder, small_cost=small_cost):
        say(f"drawn: {path}")


def _evaluate_published(
    data: Path, artefact: Path | None, split: list[str] | None, json: bool, embedder: str | None, threads: int
) -> None:
    from classifiers.measuring.evaluate import DEFAULT_SPLITS
    from classifiers.measuring.evaluate import evaluate as run
    from classifiers.outcomes.splits import SPLITS

    if unknown := [name for name in split or () if name not in SPLITS]:
        fail(f"{unknown[0]!r} is not a split; there are {', '.join(SPLITS)}")
    chosen, cache = tuple(split or DEFAULT_SPLITS), Settings().cache_dir
    report = run(artefact, data, cache_dir=cache, splits=chosen, embedder=embedder, threads=threads, progress=_progress)
    _give(report, report, json)


def _give(value: msgspec.Struct, report: "Report", json: bool) -> None:
    if json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=1).decode() + "\n")
    else:
        _show(report)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _progress(done: int, total: int) -> None:
    say(f"embedded {done:,} of {total:,} prompts")


def _show(report: "Report") -> None:
    show_table(report.title, report.columns, report.rows)
    for note in report.notes:
        say(note)
