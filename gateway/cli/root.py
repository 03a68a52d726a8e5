"""The command tree."""

import typer

from gateway.cli.classifier import evaluate, train
from gateway.cli.models import app as models
from gateway.cli.policy import check, explain
from gateway.cli.serve import serve, worker

app = typer.Typer(
    help="Turnout: a request router and gateway for multi-model LLM serving.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (serve, worker, check, explain, train, evaluate):
    app.command()(command)
app.add_typer(models, name="models")


def main() -> None:
    """Run the command that was asked for."""
    app()
