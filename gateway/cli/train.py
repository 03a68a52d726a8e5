"""`turnout train`: a difficulty classifier from outcomes, from a log of decisions, or from the published tables."""

from pathlib import Path
from typing import TYPE_CHECKING

from gateway.cli.classifier import (
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
from gateway.cli.results import JsonOption, PlotsOption, SmallCostOption, draw_curves, drawable, give, writable
from gateway.cli.terminal import unwound
from gateway.settings import Settings

if TYPE_CHECKING:
    from classifiers.training.written import Written


def train(
    data: OwnDataOption = None,
    out: OutOption = Path("difficulty"),
    from_log: FromLogOption = None,
    json: JsonOption = False,
    plots: PlotsOption = None,
    small_cost: SmallCostOption = 0.1,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Train a difficulty classifier, on outcomes or on a log of decisions, and write its artefact, data card and metrics.

    --plots draws reliability.png, deferral.png and frontier.png of prompts that it had not seen.
    """
    source = one_source(data, from_log)
    with needs_classify(), drawable(plots), writable(out, "--out"), unwound():
        found = _trained(source, from_log, out, embedder, threads)
        give(found, found, json)
        say_written(out)
        draw_curves(found.curves, plots, small_cost)


def _trained(data: Path | None, log: Path | None, out: Path, embedder: str | None, threads: int) -> "Written":
    cache = Settings().cache_dir
    if data is None:
        from classifiers.training.from_log import train_from_log

        return train_from_log(
            taught_by(log),
            out,
            cache_dir=cache,
            trained_on=today(),
            embedder=embedder,
            threads=threads,
            progress=progress,
        )
    from classifiers.training.own import train_own
    from classifiers.training.shipped import train as train_shipped

    run = train_shipped if data.is_dir() else train_own
    return run(data, out, cache_dir=cache, trained_on=today(), embedder=embedder, threads=threads, progress=progress)
