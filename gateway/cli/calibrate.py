"""`turnout calibrate`: an artefact on the scale of what happens here."""

from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.classifier import (
    ArtefactOption,
    EmbedderOption,
    FromLogOption,
    OutOption,
    OwnDataOption,
    ThreadsOption,
    needs_classify,
    one_source,
    progress,
    say_written,
    taught_by,
    today,
)  # fmt: skip
from gateway.cli.results import JsonOption, PlotsOption, draw_curves, drawable, give, writable
from gateway.cli.terminal import unwound
from gateway.settings import Settings

if TYPE_CHECKING:
    from classifiers.training.written import Written


def calibrate(
    data: OwnDataOption = None,
    out: OutOption = Path("difficulty"),
    from_log: FromLogOption = None,
    artefact: ArtefactOption = None,
    json: JsonOption = False,
    plots: PlotsOption = None,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Put an artefact on the scale of local outcomes, or of a log's; a few hundred are enough.

    --plots draws reliability.png: before, and after on prompts that the new scale had not seen.
    """
    source = one_source(data, from_log)
    with needs_classify(), drawable(plots), writable(out, "--out"), unwound():
        found = _calibrated(artefact, source, from_log, out, embedder, threads)
        give(found, found, json)
        say_written(out)
        draw_curves(found.curves, plots)


def _calibrated(
    artefact: Path | None, data: Path | None, log: Path | None, out: Path, embedder: str | None, threads: int
) -> "Written":
    if data is None:
        from classifiers.training.from_log import calibrate_from_log

        return calibrate_from_log(artefact, taught_by(log), out, trained_on=today(), embedder=embedder, threads=threads)
    from classifiers.training.recalibrate import recalibrate

    return recalibrate(
        artefact, data, out, cache_dir=Settings().cache_dir, trained_on=today(), embedder=embedder, threads=threads,
        progress=progress,
    )  # fmt: skip
