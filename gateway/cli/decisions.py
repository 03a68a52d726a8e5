"""`turnout decisions | drift`: what a log comes to, the same as a table in Parquet, and whether its estimates hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gateway.cli.policy import dollars
from gateway.cli.terminal import fail, in_words, say, show_json, show_table
from gateway.decisions.drift import Drift
from gateway.decisions.drift import drift as drift_of
from gateway.decisions.parquet import export as write_parquet
from gateway.decisions.read import LogRefused, read_log
from gateway.decisions.replay import policies_beside
from gateway.decisions.summary import Summary, summary
from gateway.extras import needs
from gateway.settings import BadSettings

LogArgument = Annotated[
    Path, typer.Argument(help="the folder of a log or of several, or one segment", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON instead of tables")]


class OrShow(TyperGroup):
    """What is no command of the group is a log to be shown."""

    # The context is click's, or typer's own copy of click's, by its release.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_command = not args or args[0] in self.commands or args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if is_command else ["show", *args])


decisions = typer.Typer(
    cls=OrShow, no_args_is_help=True, help="Logs of decisions: `turnout decisions LOG` shows what one comes to."
)


@decisions.command()
def show(log: LogArgument, as_json: JsonOption = False) -> None:
    """Show what a log of decisions comes to. Exit code 2 when it cannot be read."""
    with readable():
        found = summary(read_log(log))
    if as_json:
        return show_json(found)
    show_summary(found)


@decisions.command()
def export(
    log: LogArgument,
    parquet: Annotated[Path, typer.Option(help="the file to write", show_default=False)],
) -> None:
    """Write a log as a table in Parquet: a row for each decision, what callers said of it beside it.

    Exit code 1 without pyarrow, 2 when the log cannot be read or the file not be written.
    """
    try:
        with needs("classify", f"{parquet} is to be written"), readable():
            count = write_parquet(lambda: read_log(log), parquet)
    except BadSettings as error:
        fail(str(error), code=1)
    say(f"{count} decisions written to {parquet}")


def drift(log: LogArgument, as_json: JsonOption = False) -> None:
    """Show how a log's estimates lie from day to day, and what callers said of answers by the chance that they had.

    Exit code 2 when it cannot be read.
    """
    with readable():
        found = drift_of(read_log(log), policies_beside(log))
    if as_json:
        return show_json(found)
    show_drift(found)


@contextmanager
def readable() -> Iterator[None]:
    try:
        yield
    except (LogRefused, OSError) as error:
        fail(in_words(error))


def show_summary(found: Summary) -> None:
    when = "" if found.since is None or found.until is None else f", {instant(found.since)} to {instant(found.until)}"
    head = ("answered by", "requests", "share", "cost", "tokens in", "cached", "tokens out", "good", "bad")
    rows = [
        (
            model,
            str(of.requests),
            share(of.requests, found.decisions),
            dollars(of.microusd),
            str(of.prompt_tokens),
            str(of.cached_tokens),
            str(of.completion_tokens),
            str(of.good),
            str(of.bad),
        )
        for model, of in sorted(found.by_model.items())
    ]
    show_table(f"{found.decisions} decisions{when}", head, rows)
    ends = ", ".join(f"{end} {count}" for end, count in sorted(found.by_end.items()))
    say(f"ended: {ends or 'none'}; rejected {found.rejected}, escalated {found.escalated}")
    say(f"feedback: {found.feedback}, of which {found.stray} of no request of that tenant here")
    signals = ", ".join(f"{signal} {count}" for signal, count in sorted(found.signals.items()))
    say(f"signals: {signals or 'none'}")


def show_drift(found: Drift) -> None:
    days = [
        (day.day, str(day.estimated), str(day.abstained), head, *(f"{value:.2f}" for value in lie))
        for day in found.days
        for head, lie in day.p_good.items() or {"none": ()}.items()
    ]
    show_table("P(good) by day", ("day", "estimated", "abstained", "head", "10 %", "50 %", "90 %"), days)
    rows = [(b.model, f"{b.low:.1f}", str(b.answers), f"{b.p_good:.2f}", f"{b.worth:.2f}") for b in found.buckets]
    show_table("what callers said, by chance", ("model", "from", "answers", "P(good)", "worth"), rows)
    for model, error in found.error.items():
        say(f"{model}: chance and worth are {error:.2f} apart on average")
    say("Feedback is of answers that were chosen, from whom it pleased: it tells of a drift, it is no sample.")


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0.0%"


def instant(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
