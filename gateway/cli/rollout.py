"""`turnout rollout status | approve | abort | resume`: how far a change is, and a person's word on it."""

import time
from typing import Annotated, Literal

import typer

from gateway.cli.experiment import DirOption, JsonOption, opened, row
from gateway.cli.terminal import fail, say, show_json, show_table
from gateway.experiments.chapter import Chapter
from gateway.experiments.shelf import Order, Shelf
from gateway.experiments.telling import ToldRollout, misfit, told_rollout
from policies.experiments.breaches import PairFinding

app = typer.Typer(no_args_is_help=True, help="Rollouts of a gateway: how far they are, and a person's word on them.")

NameArgument = Annotated[str, typer.Argument(help="the rollout", show_default=False)]


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(help="one rollout (default: all)", show_default=False)] = None,
    folder: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how rollouts stand: the step in words, and every guardrail's metric with its interval. Exit code 2 without any."""
    shelf = opened(folder)
    chapters = [found for found in rollouts(shelf).values() if name in (None, found.experiment.name)]
    if not chapters:
        fail(f"{shelf.folder} holds no rollout" + (f" {name}" if name else ""))
    told = [told_rollout(chapter, time.time()) for chapter in chapters]
    if as_json:
        return show_json(told)
    for one in told:
        show(one)


@app.command()
def approve(name: NameArgument, folder: DirOption = None) -> None:
    """Let a rollout that waits for a person go on with its next step."""
    give(name, "approve", opened(folder))
    say(f"{name}: goes on as soon as the gateway reads this, within a second")


@app.command()
def abort(name: NameArgument, folder: DirOption = None) -> None:
    """Take the change back from everybody, from the next second on; also of a rollout that is done."""
    give(name, "abort", opened(folder))
    say(f"{name}: nobody has the change as soon as the gateway reads this, within a second")


@app.command()
def resume(name: NameArgument, folder: DirOption = None) -> None:
    """Go on with what was held at its step, or with what was rolled back from its first step; both with new evidence."""
    give(name, "resume", opened(folder))
    say(f"{name}: goes on with new evidence as soon as the gateway reads this, within a second")


def rollouts(shelf: Shelf) -> dict[str, Chapter]:
    return {name: chapter for name, chapter in shelf.all().items() if chapter.experiment.steps}


def give(name: str, action: Literal["approve", "abort", "resume"], shelf: Shelf) -> None:
    """Leave an order. Raises typer.Exit where there is no such rollout, or the order makes no sense of it."""
    known = rollouts(shelf)
    if name not in known:
        fail(f"{shelf.folder} holds no rollout {name}; it holds: {', '.join(known) or 'none'}")
    if wrong := misfit(known[name], action, time.time()):
        fail(wrong)
    shelf.order(name, Order(action, "", time.time()))


def show(told: ToldRollout) -> None:
    requests = ", ".join(f"{variant} {count}" for variant, count in sorted(told.requests.items())) or "none"
    print(f"{told.rollout}: {told.words}\nrequests: {requests}")
    head = ("metric", "variant", "value", "control", "change", "from", "to", "p", "requests")
    show_table("at every look", head, [row(found) for found in told.verdict.findings])
    if told.compared:
        of_pairs = ("guardrail", "metric", "change", "control", "p", "pairs")
        show_table("asked by the change as well", of_pairs, [pair_row(found) for found in told.compared])
    if told.without_unit:
        say(f"{told.without_unit} requests did not say of which unit they are, and took no part")


def pair_row(found: PairFinding) -> tuple[str, ...]:
    cells = [("" if cell is None else f"{cell:.4g}") for cell in (found.treat, found.control, found.p)]
    return (found.guardrail, found.metric, *cells, str(found.pairs))
