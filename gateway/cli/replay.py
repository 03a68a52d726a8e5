"""`turnout replay | diff`: a log decided again, and what other policies would have made of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.decisions import JsonOption, LogArgument, readable, share
from gateway.cli.policy import dollars, opened
from gateway.cli.terminal import say, show_json, show_table
from gateway.decisions.evidence import Verdict
from gateway.decisions.read import read_log
from gateway.decisions.replay import Comparison, Replay, compare, policies_beside
from gateway.decisions.replay import replay as decide_all_again
from policies.offpolicy.sample import Found, Interval, Refused

DIFFERS = 1
"""The exit code of `replay` where a decision did not come out as it was recorded."""

SHOWN = 10

DOLLARS_PER_1000 = 1_000 / 1e6
"""In micro-dollars for each of 1,000."""


def replay(
    log: LogArgument,
    policy: Annotated[Path | None, typer.Option(help="another policy file (default: those that decided)")] = None,
    as_json: JsonOption = False,
) -> None:
    """Decide a log again. Without --policy by the policies that it keeps: exit code 1 when anything comes out differently.

    With one: which first choices would have been others, the shares, what they cost, and how good they would have been, with
    intervals. Exit code 2 when something cannot be read.
    """
    if policy is not None:
        with opened(policy) as found, readable():
            compared = compare(read_log(log), policies_beside(log), found.policy)
        return show_json(flat(compared)) if as_json else show_comparison(compared, "recorded", str(policy))
    with readable():
        again = decide_all_again(read_log(log), policies_beside(log))
    if as_json:
        show_json(again)
    else:
        show_replay(again)
    if again.differ:
        raise typer.Exit(DIFFERS)


def diff(
    first: Annotated[Path, typer.Argument(help="a policy file", show_default=False)],
    second: Annotated[Path, typer.Argument(help="the one that is compared with it", show_default=False)],
    log: Annotated[Path, typer.Option("--replay", help="the log that both decide", show_default=False)],
    as_json: JsonOption = False,
) -> None:
    """Compare two policies on a log: whose first choices differ, and what the second would change of cost and quality.

    Exit code 2 when something cannot be read.
    """
    with opened(first) as before, opened(second) as after, readable():
        compared = compare(read_log(log), policies_beside(log), after.policy, than=before.policy)
    if as_json:
        return show_json(flat(compared))
    show_comparison(compared, str(first), str(second))


def flat(found: Comparison) -> dict[str, object]:
    """Pairs cannot be keys of JSON."""
    flips = [{"before": a, "after": b, "decisions": n} for (a, b), n in found.flips.items()]
    return {
        **{name: getattr(found, name) for name in found.__struct_fields__},
        "flips": flips,
        "flipped": found.flipped,
    }


def show_replay(found: Replay) -> None:
    say(f"{found.replayed} decisions were made again; {len(found.differ)} came out differently")
    for request_id in found.differ[:SHOWN]:
        say(f"differs: {request_id}")
    say_left_out(found.cleaned, sum(found.without_policy.values()))


def show_comparison(found: Comparison, one: str, other: str) -> None:
    models = sorted({*found.before, *found.after})
    rows = [(m, *(share(side.get(m, 0), found.compared) for side in (found.before, found.after))) for m in models]
    show_table(f"first choices of {found.compared} decisions", ("model", one, other), rows)
    flips = sorted(found.flips.items(), key=lambda flip: -flip[1])
    show_table(
        f"{found.flipped} would be others ({share(found.flipped, found.compared)})",
        (one, other, "decisions"),
        [(before, after, str(count)) for (before, after), count in flips],
    )
    change = f" ({found.after_microusd / found.before_microusd - 1:+.1%})" if found.before_microusd else ""
    say(f"cost: {dollars(round(found.before_microusd))} would be {dollars(round(found.after_microusd))}{change}")
    say("That is for first choices alone: prompts as they were, answers as long as the recorded ones, nothing cached.")
    show_evidence(found, other)
    say("Lines stand where the file puts them; headers that only the other policy reads are absent.")
    say_left_out(found.cleaned, found.without_policy)


def show_evidence(found: Comparison, other: str) -> None:
    """What is estimated by the choices that were drawn; why, where that is nothing."""
    verdicts = [(what, verdict) for what, verdict in (("cost", found.cost), ("quality", found.quality)) if verdict]
    rows = [row for what, verdict in verdicts for row in rows_of(what, verdict)]
    if rows:
        title = f"what {other} would come to: $ per 1,000 decisions, quality from 0 to 1; 95 % intervals"
        show_table(title, ("of", "by", "would be", "change", "unseen"), rows)
    for what, verdict in verdicts:
        say(f"{what}: {evidence_of(verdict)}")
    if found.quality is None:
        say("quality: not estimated, for no caller told anything of these answers (POST /v1/feedback)")
    else:
        say("Quality is of the answers that callers told something of: from whom it pleased, no fair sample.")


def rows_of(what: str, verdict: Verdict) -> Iterator[tuple[str, ...]]:
    unit = DOLLARS_PER_1000 if what == "cost" else 1.0
    for how, found in (("weights", verdict.weighted), ("robust", verdict.robust)):
        if isinstance(found, Found):
            yield what, how, spelt(found.mean, unit, ""), spelt(found.change, unit, "+"), f"{found.unseen:.1%}"


def spelt(found: Interval, unit: float, sign: str) -> str:
    value, low, high = (format(number * unit, f"{sign}.3f") for number in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"


def evidence_of(verdict: Verdict) -> str:
    """How much stands behind the numbers, or why there are none."""
    found = verdict.robust
    if isinstance(found, Refused):
        return f"not estimated, for {found.why}; a route with `explore: 2%` makes evidence"
    return (
        f"by {verdict.decisions} decisions, which are worth {found.effective:.0f} independent ones of the other policy"
    )


def say_left_out(cleaned: int, without_policy: int) -> None:
    if cleaned:
        say(f"left out: {cleaned} of whose facts something was hidden")
    if without_policy:
        say(f"left out: {without_policy} whose policy is not beside the log")
