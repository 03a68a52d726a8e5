"""`turnout score`: what an artefact says of prompts, as CSV."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.classifier import ArtefactOption, EmbedderOption, ThreadsOption, needs_classify, progress
from gateway.cli.results import writable
from gateway.cli.terminal import fail, say
from gateway.settings import Settings


def score(
    data: Annotated[Path, typer.Option("--data", help="CSV with prompt_id and prompt", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="CSV to write: prompt_id, score, p_good per model")],
    artefact: ArtefactOption = None,
    embedder: EmbedderOption = None,
    threads: ThreadsOption = 2,
) -> None:
    """Score prompts: the predicted gain of the large model over the small one, higher means send to large."""
    if out.is_dir():
        fail(f"--out {out} is a folder, and a file is needed", code=1)
    with needs_classify(), writable(out.parent, "--out"):
        from classifiers.artefact import SHIPPED
        from classifiers.measuring.score import score as run

        cache = Settings().cache_dir
        written = run(
            artefact or SHIPPED, data, out, cache_dir=cache, embedder=embedder, threads=threads, progress=progress
        )
    say(f"{written:,} scores written to {out}")
