"""`turnout experiment status | stop | promote | ramp`: what experiments show, and an end to them."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateway.cli.simulate import simulate
from gateway.cli.terminal import fail, say, show_json, show_table
from gateway.experiments.chapter import Chapter
from gateway.experiments.shelf import Order, Shelf
from gateway.experiments.telling import ToldExperiment, told_experiment
from gateway.settings import Settings
from policies.experiments.plan import Experiment
from policies.experiments.verdict import Finding

app = typer.Typer(no_args_is_help=True, help="Experiments of a gateway: what they show, and an end to them.")

DirOption = Annotated[
    Path | None, typer.Option("--dir", help="the folder of a gateway's experiments (default: TURNOUT_EXPERIMENTS__DIR)")
]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON instead of tables")]
NameArgument = Annotated[str, typer.Argument(help="the experiment", show_default=False)]


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(help="one experiment (default: all)", show_default=False)] = None,
    folder: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how experiments stand: a verdict in words, and every metric with its interval. Exit code 2 without any."""
    shelf = opened(folder)
    chapters = [found for found in experiments(shelf).values() if name in (None, found.experiment.name)]
    if not chapters:
        fail(f"{shelf.folder} holds no experiment" + (f" {name}" if name else ""))
    told = [told_experiment(chapter) for chapter in chapters]
    if as_json:
        return show_json(told)
    for one in told:
        show(one)


@app.command()
def stop(name: NameArgument, folder: DirOption = None) -> None:
    """Give everybody control, from the next second on. The experiment stays stopped until its salt or its variants change."""
    shelf = opened(folder)
    chapter = known(shelf, name)
    shelf.order(name, Order("stop", chapter.experiment.control, time.time()))
    say(f"{name}: everybody gets {chapter.experiment.control} as soon as the gateway reads this, within a second")


@app.command()
def ramp(
    name: NameArgument,
    weights: Annotated[str, typer.Argument(help="of every variant: control=50,treat=50", show_default=False)],
    folder: DirOption = None,
) -> None:
    """Go on by other weights, from the next second on: no more units move than must, and the evidence goes on.

    What was stopped, promoted or held runs again by this.
    """
    shelf = opened(folder)
    chapter = known(shelf, name)
    fresh = weights_in(weights, chapter.experiment)
    shelf.order(name, Order("ramp", "", time.time(), fresh))
    say(f"{name}: {weights} as soon as the gateway reads this, within a second")


@app.command()
def promote(
    name: NameArgument,
    variant: Annotated[str | None, typer.Option(help="who gets everybody (default: the winner)")] = None,
    policy: Annotated[
        Path | None, typer.Option(help="the policy file, to print the edit (default: TURNOUT_POLICY)")
    ] = None,
    folder: DirOption = None,
) -> None:
    """Give everybody one variant, from the next second on, and print what to change in the policy file for good."""
    shelf = opened(folder)
    chapter = known(shelf, name)
    chosen = variant or winner_of(chapter)
    if chosen not in chapter.experiment.weights:
        fail(f"{name} has no variant {chosen}; it has: {', '.join(chapter.experiment.weights)}")
    shelf.order(name, Order("promote", chosen, time.time()))
    say(f"{name}: everybody gets {chosen} as soon as the gateway reads this, within a second")
    place = policy or Settings().policy
    if place is not None:
        print("\n".join(edit_of(place, name, chosen)))


def opened(folder: Path | None) -> Shelf:
    found = folder or Settings().experiments_dir
    if found is None or not found.is_dir():
        fail("name the folder of a gateway's experiments with --dir, or set TURNOUT_EXPERIMENTS__DIR")
    return Shelf(found)


def weights_in(text: str, experiment: Experiment) -> dict[str, float]:
    """Raises typer.Exit where it is not a weight for each variant."""
    try:
        found = {name.strip(): float(weight) for name, _, weight in (part.partition("=") for part in text.split(","))}
    except ValueError:
        fail(f"weights are written as control=50,treat=50; this is {text}")
    control = found.get(experiment.control, 0.0)
    if (
        found.keys() != experiment.weights.keys()
        or not all(0 <= weight <= 1e6 for weight in found.values())
        or not control
    ):
        named = ", ".join(experiment.weights)
        fail(f"{experiment.name} wants a weight for each of {named}, none below 0 and {experiment.control} above it")
    return found


def experiments(shelf: Shelf) -> dict[str, Chapter]:
    """Those that are no rollouts."""
    return {name: chapter for name, chapter in shelf.all().items() if not chapter.experiment.steps}


def known(shelf: Shelf, name: str) -> Chapter:
    found = experiments(shelf)
    if name not in found:
        instead = "; it is a rollout: turnout rollout" if name in shelf.all() else ""
        fail(f"{shelf.folder} holds no experiment {name}; it holds: {', '.join(found) or 'none'}{instead}")
    return found[name]


def show(told: ToldExperiment) -> None:
    everybody = f", everybody gets {told.variant}" if told.state in ("stopped", "promoted") else ""
    why = f": {told.why}" if told.why else ""
    requests = ", ".join(f"{variant} {count}" for variant, count in sorted(told.requests.items())) or "none"
    print(f"{told.experiment} is {told.state}{everybody}{why}\nrequests: {requests}")
    print(told.verdict.words)
    if told.verdict.findings:
        head = ("metric", "variant", "value", "control", "change", "from", "to", "p", "requests")
        show_table("at every look", head, [row(found) for found in told.verdict.findings])
    if told.without_unit:
        say(f"{told.without_unit} requests did not say of which unit they are, and took no part")


def row(found: Finding) -> tuple[str, ...]:
    cells = (found.treat, found.control, found.change, found.low, found.high, found.p)
    return (
        found.metric,
        found.variant,
        *(("" if cell is None else f"{cell:.4g}") for cell in cells),
        str(found.requests),
    )


def winner_of(chapter: Chapter) -> str:
    """Raises typer.Exit where nothing is decided."""
    found = chapter.verdict(chapter.seen_at)
    if found.outcome != "winner":
        fail(
            f"{chapter.experiment.name} has no winner: {found.words}; name one with --variant to promote it all the same"
        )
    return found.variant


def edit_of(place: Path, name: str, variant: str) -> Iterator[str]:
    """What to write where in the policy file, and what to take out."""
    from policies.language.load import shape
    from policies.language.problem import Source

    text = place.read_text(encoding="utf-8")
    found, _ = shape(Source.of(str(place), text), text)
    entries = [] if found is None else [entry for entry in found.file.experiments if entry.name == name]
    if not entries or variant not in entries[0].variants:
        yield f"{place} has no variant {variant} of {name}"
        return
    yield f"in {place}:"
    for path, value in entries[0].variants[variant].set_.items():
        yield f"  {path}: {msgspec.json.encode(value).decode()}"
    yield f"and take the experiment {name} out"


app.command()(simulate)
