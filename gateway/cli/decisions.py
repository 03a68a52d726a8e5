"""`turnout decisions | drift | replay`: what a log comes to, whether its estimates hold, what other policies would do."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateway.cli.policy import dollars, opened
from gateway.cli.terminal import fail, say, show_table
from gateway.decisions.drift import Drift
from gateway.decisions.drift import drift as drift_of
from gateway.decisions.read import LogRefused, read_log
from gateway.decisions.replay import Comparison, Replay, compare, policies_beside
from gateway.decisions.replay import replay as decide_all_again
from gateway.decisions.summary import Summary, summary

DIFFERS = 1
"""The exit code of `replay` where a decision did not come out as it was recorded."""

SHOWN = 10

LogArgument = Annotated[Path, typer.Argument(help="the folder of a log, or one segment of it", show_default=False)]
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


def replay(
    log: LogArgument,
    policy: Annotated[Path | None, typer.Option(help="another policy file (default: those that decided)")] = None,
    as_json: JsonOption = False,
) -> None:
    """Decide a log again. Without --policy by the policies that it keeps: exit code 1 when anything comes out differently.

    With one: which first choices would have been others, the shares, and what they cost. Exit code 2 when something cannot be
    read.
    """
    if policy is not None:
        with opened(policy) as found, readable():
            compared = compare(read_log(log), policies_beside(log), found.policy)
        return print(in_json(flat(compared))) if as_json else show_comparison(compared, str(policy))
    with readable():
        again = decide_all_again(read_log(log), policies_beside(log))
    if as_json:
        print(in_json(again))
    else:
        show_replay(again)
    if again.differ:
        raise typer.Exit(DIFFERS)


@contextmanager
def readable() -> Iterator[None]:
    try:
        yield
    except (LogRefused, OSError) as error:
        fail(str(error))


def in_json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def flat(found: Comparison) -> dict[str, object]:
    """Pairs cannot be keys of JSON."""
    flips = [{"before": a, "after": b, "decisions": n} for (a, b), n in found.flips.items()]
    return {
        **{name: getattr(found, name) for name in found.__struct_fields__},
        "flips": flips,
        "flipped": found.flipped,
    }


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


def show_replay(found: Replay) -> None:
    say(f"{found.replayed} decisions were made again; {len(found.differ)} came out differently")
    for request_id in found.differ[:SHOWN]:
        say(f"differs: {request_id}")
    say_left_out(found.cleaned, sum(found.without_policy.values()))


def show_comparison(found: Comparison, other: str) -> None:
    models = sorted({*found.before, *found.after})
    rows = [(m, *(share(side.get(m, 0), found.compared) for side in (found.before, found.after))) for m in models]
    show_table(f"first choices of {found.compared} decisions", ("model", "recorded", other), rows)
    flips = sorted(found.flips.items(), key=lambda flip: -flip[1])
    show_table(
        f"{found.flipped} would be others ({share(found.flipped, found.compared)})",
        ("recorded", other, "decisions"),
        [(before, after, str(count)) for (before, after), count in flips],
    )
    change = f" ({found.after_microusd / found.before_microusd - 1:+.1%})" if found.before_microusd else ""
    say(f"cost: {dollars(round(found.before_microusd))} would be {dollars(round(found.after_microusd))}{change}")
    say("That is for first choices alone: prompts as they were, answers as long as the recorded ones, nothing cached.")
    say(
        "Not estimated: how good the other answers would have been, and how long; lines stand where the file puts them."
    )
    say_left_out(found.cleaned, found.without_policy)


def say_left_out(cleaned: int, without_policy: int) -> None:
    if cleaned:
        say(f"left out: {cleaned} of whose facts something was hidden")
    if without_policy:
        say(f"left out: {without_policy} whose policy is not beside the log")


def share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "0.0%"


def instant(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
