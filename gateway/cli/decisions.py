"""`turnout decisions | drift`: what a log comes to, and whether its estimates hold."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateway.cli.policy import dollars
from gateway.cli.terminal import fail, say, show_table
from gateway.decisions.drift import Drift
from gateway.decisions.drift import drift as drift_of
from gateway.decisions.read import LogRefused, read_log
from gateway.decisions.replay import policies_beside
from gateway.decisions.summary import Summary, summary

LogArgument = Annotated[
    Path, typer.Argument(help="the folder of a log or of several, or one segment", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON instead of tables")]


def decisions(log: LogArgument, as_json: JsonOption = False) -> None:
    """Show what a log of decisions comes to. Exit code 2 when it cannot be read."""
    with readable():
        found = summary(read_log(log))
    if as_json:
        return print(in_json(found))
    show_summary(found)


def drift(log: LogArgument, as_json: JsonOption = False) -> None:
    """Show how a log's estimates lie from day to day, and what callers said of answers by the chance that they had.

    Exit code 2 when it cannot be read.
    """
    with readable():
        found = drift_of(read_log(log), policies_beside(log))
    if as_json:
        return print(in_json(found))
    show_drift(found)


@contextmanager
def readable() -> Iterator[None]:
    try:
        yield
    except (LogRefused, OSError) as error:
        fail(str(error))


def in_json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


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
