"""`turnout shadow status`: what shadows have drawn, what they cost, and what comparing has shown."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.terminal import fail, say, show_json, show_table
from gateway.settings import Settings
from gateway.shadows.shelf import Shelf
from gateway.shadows.told import ToldShadow, told_of
from policies.shadows.verdict import Estimate, Finding

app = typer.Typer(
    no_args_is_help=True, help="Shadows of a gateway: models that are asked the same, for comparison alone."
)


@app.callback()
def group() -> None:
    """A group with one command keeps its name."""


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(help="one shadow (default: all)", show_default=False)] = None,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="the folder of a gateway's shadows (default: TURNOUT_SHADOWS__DIR)")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of tables")] = False,
) -> None:
    """Show how shadows stand: a verdict in words, and every rung with its interval. Exit code 2 without any."""
    place = folder or Settings().shadows_dir
    if place is None:
        fail("no folder of shadows is known: name one with --dir, or set TURNOUT_SHADOWS__DIR")
    chapters = [found for found in Shelf(place).all().values() if name in (None, found.name)]
    if not chapters:
        fail(f"{place} holds no shadow" + (f" {name}" if name else ""))
    told = [told_of(chapter) for chapter in chapters]
    if as_json:
        return show_json(told)
    for one in told:
        show(one)


def show(told: ToldShadow) -> None:
    results = ", ".join(f"{result} {count}" for result, count in sorted(told.results.items())) or "nothing drawn"
    cap = "no cap" if told.cap_microusd is None else f"cap {dollars(told.cap_microusd)}"
    print(f"{told.shadow} asks {told.to}: {told.words}")
    print(f"drawn: {results}; second answers {told.twice}")
    print(f"spend: {dollars(told.taken_microusd)} of this day ({cap}), {dollars(told.microusd)} in all")
    if told.pair_ms is not None and told.pair_microusd is not None:
        say(
            f"a pair: {told.pair_ms[0]:.0f} ms and {dollars(told.pair_microusd[0])} for the answer,"
            f" {told.pair_ms[1]:.0f} ms and {dollars(told.pair_microusd[1])} for {told.to}"
        )
    if told.findings:
        head = ("rung", "verdict", "shadow", "of", "answer from itself", "of", "excess", "from", "to")
        show_table("percent; intervals hold at every look", head, [row(found) for found in told.findings])
    for found in told.findings:
        print(found.words)


def row(found: Finding) -> tuple[str, ...]:
    excess = found.excess
    known = (percent(excess.mean), percent(excess.low), percent(excess.high)) if excess.pairs else ("", "", "")
    if found.rung == "judge":
        return (found.rung, found.says, "", str(found.shadow.pairs), "", "", *known)
    return (found.rung, found.says, *mean(found.shadow), *mean(found.floor), *known)


def mean(told: Estimate) -> tuple[str, str]:
    return (percent(told.mean) if told.pairs else "", str(told.pairs))


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def dollars(microusd: float) -> str:
    """
    >>> dollars(1_500_000)
    '$1.5000'
    """
    return f"${microusd / 1e6:.4f}"
