"""The command tree."""

import os
import sys
from importlib.metadata import version
from typing import Annotated, TextIO

import typer

from gateway.cli.calibrate import calibrate
from gateway.cli.check import check
from gateway.cli.decisions import decisions, drift
from gateway.cli.evaluate import compare, evaluate
from gateway.cli.experiment import app as experiment
from gateway.cli.explain import explain
from gateway.cli.models import app as models
from gateway.cli.replay import diff, replay
from gateway.cli.rollout import app as rollout
from gateway.cli.score import score
from gateway.cli.serve import serve, worker
from gateway.cli.shadow import app as shadow
from gateway.cli.train import train
from gateway.cli.weigh import weigh
from gateway.cli.whatif import whatif

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    serve,
    worker,
    check,
    explain,
    whatif,
    drift,
    replay,
    diff,
    train,
    score,
    evaluate,
    compare,
    calibrate,
    weigh,
):
    app.command()(command)
app.add_typer(models, name="models")
app.add_typer(decisions, name="decisions")
app.add_typer(experiment, name="experiment")
app.add_typer(shadow, name="shadow")
app.add_typer(rollout, name="rollout")


def show_version(wanted: bool) -> None:
    if wanted:
        print(version("turnout"))
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="show the version and end")
    ] = False,
) -> None:
    """Turnout: a request router and gateway for multi-model LLM serving."""


def main() -> None:
    """Run the command that was asked for. What is said goes nowhere where its output was closed (`2>&-`)."""
    sys.stdout, sys.stderr = sys.stdout or nowhere(), sys.stderr or nowhere()
    app()


def nowhere() -> TextIO:
    """It stays open for as long as the process lives."""
    return open(os.devnull, "w", encoding="utf-8")
