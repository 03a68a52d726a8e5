"""`turnout evaluate` and `turnout compare`: how artefacts route, on own outcomes or on the published tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.classifier import (
    ArtefactOption,
    EmbedderOption,
    ResamplesOption,
    ThreadsOption,
    needs_classify,
    progress,
)  # fmt: skip
from gateway.cli.results import JsonOption, PlotsOption, SmallCostOption, draw, draw_curves, drawable, give
from gateway.cli.terminal import fail
from gateway.settings import Settings

if TYPE_CHECKING:
    from classifiers.measuring.evaluate import Published

DataOption = Annotated[
    Path, typer.Option("--data", help="CSV of own outcomes, or the folder of published tables", show_default=False)
]
CsvOption = Annotated[
    Path, typer.Option("--data", help="CSV with prompt_id, prompt and <model>_correct columns", show_default=False)
]
SplitOption = Annotated[list[str] | None, typer.Option(help="with published tables: a split; again for more")]


def evaluate(
    data: DataOption,
    artefact: ArtefactOption = None,
    split: SplitOption = None,
    json: JsonOption = False,
    plots: PlotsOption = None,
    small_cost: SmallCostOption = 0.1,
    resamples: ResamplesOption = 200,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Measure routing quality on outcomes, beside every baseline and the oracle.

    --plots draws reliability.png, deferral.png and frontier.png; of published tables in a folder for each set of prompts.
    """
    if split and not data.is_dir():
        fail("--split names published tables: give --data their folder")
    with needs_classify(), drawable(plots):
        if data.is_dir():
            published = _published(artefact, data, split, resamples, embedder, threads)
            give(published, published, json)
            for name, curves in published.curves.items():
                draw_curves(curves, plots and plots / name.replace(" → ", "-to-"), small_cost)
            return
        from classifiers.measuring.measure import measure

        measured = measure(
            artefact, data, cache_dir=Settings().cache_dir, embedder=embedder, threads=threads, resamples=resamples,
            progress=progress,
        )  # fmt: skip
        give(measured, measured.report(), json)
        draw_curves(measured.curves, plots, small_cost)


def _published(
    artefact: Path | None, data: Path, split: list[str] | None, resamples: int, embedder: str | None, threads: int
) -> "Published":
    from classifiers.measuring.evaluate import DEFAULT_SPLITS
    from classifiers.measuring.evaluate import evaluate as run
    from classifiers.outcomes.splits import SPLITS

    if unknown := [name for name in split or () if name not in SPLITS]:
        fail(f"{unknown[0]!r} is not a split; there are {', '.join(SPLITS)}")
    return run(
        artefact, data, cache_dir=Settings().cache_dir, splits=tuple(split or DEFAULT_SPLITS), embedder=embedder,
        threads=threads, resamples=resamples, progress=progress,
    )  # fmt: skip


def compare(
    first: Annotated[Path, typer.Argument(help="artefact folder")],
    second: Annotated[Path, typer.Argument(help="artefact folder")],
    data: CsvOption,
    json: JsonOption = False,
    plots: PlotsOption = None,
    resamples: ResamplesOption = 500,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Compare two artefacts on the same prompts by a paired bootstrap.

    --plots draws reliability.png and deferral.png, both artefacts in each, with the difference and its interval.
    """
    with needs_classify(), drawable(plots):
        from classifiers.measuring.compare import compare as run

        compared = run(
            first, second, data, cache_dir=Settings().cache_dir, embedder=embedder, threads=threads,
            resamples=resamples, progress=progress,
        )  # fmt: skip
        give(compared, compared.report(), json)
        draw(compared.pictures(), plots)
