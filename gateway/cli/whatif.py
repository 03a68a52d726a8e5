"""`turnout whatif`: what the models of a route can come to on the calibration sample, and where its target sits."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from gateway.cli.policy import Opened, PolicyArgument, opened
from gateway.cli.results import JsonOption, PlotsOption, draw_as, drawable, give
from gateway.cli.terminal import fail
from policies.policy import Choose, Expected, Route, Target
from policies.targets import Infeasible, Rung, dearest_within, mixes, solve, steps

if TYPE_CHECKING:
    from classifiers.measuring.pictures import Picture
    from classifiers.measuring.report import Cell, Report

ROWS = 21
"""Mixes that are shown, the two ends among them."""

NUDGES = {"10% less": 0.9, "10% more": 1.1}

TARGET = re.compile(r"(?P<kind>cost|quality)\s*[:=]?\s*(?P<percent>\d+(?:\.\d+)?)\s*%(?:\s+of\s+(?P<of>\S+))?")


class WhatIf(msgspec.Struct, frozen=True):
    """`now` is what `target` comes to; `nudged` what a little less and more cost would. `frontier` goes by cost. `explored` is
    what `now` comes to when the route's share of conversations is drawn from all of its models; None where nothing is."""

    route: str
    target: Target
    loss: float
    now: Expected
    nudged: Mapping[str, Expected]
    frontier: Sequence[Expected]
    explored: Expected | None = None


def whatif(
    policy: PolicyArgument,
    route: Annotated[str | None, typer.Option(help="the route (default: the first that chooses by difficulty)")] = None,
    target: Annotated[
        str | None, typer.Option(help='another target than the file\'s, such as "cost: 30%" or "quality: 98% of large"')
    ] = None,
    json: JsonOption = False,
    plots: PlotsOption = None,
    plot: Annotated[Path | None, typer.Option(help="the same picture as a file of this name")] = None,
) -> None:
    """Show which mixes of cost and quality a route can come to, where its target sits, and what a little more would buy.

    --plots draws frontier.png. Exit code 2 when the target cannot be held.
    """
    if plot and plot.is_dir():
        fail(f"--plot {plot} is a folder; --plots draws into one", code=1)
    with drawable(plots), drawable(plot and plot.parent, "--plot"), opened(policy, encoder=False) as found:
        chosen, choose = chosen_route(found, route)
        answer = look(chosen.name, aimed(choose, target), choose, rungs_of(found, choose), chosen.explore)
        give(answer, table(answer, choose.among), json)
        for path in filter(None, (plots and plots / "frontier.png", plot)):
            draw_as(pictured(answer), path)


def chosen_route(found: Opened, wanted: str | None) -> tuple[Route, Choose]:
    routes = {route.name: (route, route.choose) for route in found.policy.routes if route.choose is not None}
    if not routes:
        fail("no route of this policy chooses by difficulty, so there is nothing to weigh")
    name = wanted or next(iter(routes))
    if name not in routes:
        fail(f"no route {name!r} chooses by difficulty; there are: {', '.join(routes)}")
    return routes[name]


def aimed(choose: Choose, wanted: str | None) -> Target:
    """The target that is asked for, or the route's own."""
    if wanted is None:
        return choose.target
    found = TARGET.fullmatch(wanted.strip())
    if found is None:
        fail(f'{wanted!r} is no target; write "cost: 30% of large" or "quality: 98% of large"')
    of = found["of"] or choose.target.of
    if of not in choose.among:
        fail(f"{of!r} is not in the ladder of this route: {', '.join(choose.among)}")
    return Target("cost" if found["kind"] == "cost" else "quality", float(found["percent"]), of)


def rungs_of(found: Opened, choose: Choose) -> Sequence[Rung]:
    difficulty = found.policy.difficulty
    assert difficulty is not None
    sample = found.reader.calibrate(difficulty.artefact)
    heads = {name: sample.p_good[found.policy.models[name].head] for name in choose.among}
    return [Rung(name, choose.relative_cost[name], heads[name]) for name in choose.among]


def look(route: str, target: Target, choose: Choose, rungs: Sequence[Rung], explore: float = 0.0) -> WhatIf:
    """Costs are given against the target's model, which may be another than the one that the policy was solved against."""
    unit = choose.relative_cost[target.of]
    if not unit:
        fail(f"{target.of} is free, so nothing is a share of what it costs")
    ladder = [Rung(rung.model, rung.cost / unit, rung.p_good) for rung in rungs]
    solved = solve(target, ladder)
    if isinstance(solved, Infeasible):
        fail(f"{target} cannot be held: {solved.why}")
    frontier = mixes(ladder, target.of)
    nudged = {
        what: mix
        for what, factor in NUDGES.items()
        if (mix := dearest_within(frontier, solved.expected.cost_percent * factor)) is not None
    }
    others = [mix for mix in steps(frontier, ROWS) if mix != solved.expected]
    shown = sorted([*others, solved.expected], key=lambda mix: mix.cost_percent)
    explored = exploring(solved.expected, ladder, target.of, explore) if explore else None
    return WhatIf(route, target, solved.loss, solved.expected, nudged, shown, explored)


def exploring(mix: Expected, ladder: Sequence[Rung], of: str, share: float) -> Expected:
    """What a mix comes to when this share of it is answered by all models alike, but for the floors of conversations."""
    best = sum(next(rung for rung in ladder if rung.model == of).p_good)
    each = 1 / len(ladder)
    cost = 100 * each * sum(rung.cost for rung in ladder)
    quality = 100 * each * sum(sum(rung.p_good) for rung in ladder) / best if best else 100.0
    return Expected(
        (1 - share) * mix.cost_percent + share * cost,
        (1 - share) * mix.quality_percent + share * quality,
        {model: (1 - share) * part + share * each for model, part in mix.shares.items()},
    )


def pictured(answer: WhatIf) -> "Picture":
    """The frontier and where the target sits on it."""
    from classifiers.measuring.pictures import mixes as drawn

    frontier = answer.frontier
    return drawn(
        [mix.cost_percent for mix in frontier], [mix.quality_percent for mix in frontier],
        (answer.now.cost_percent, answer.now.quality_percent), answer.target.of,
    )  # fmt: skip


def table(answer: WhatIf, among: Sequence[str]) -> "Report":
    """A row for each mix, and in words what a little less and more would come to."""
    from classifiers.measuring.report import Report

    shares = tuple(f"to {model}" for model in among)
    return Report(
        title=f"route {answer.route}, in percent of {answer.target.of}",
        columns=("cost", "quality", *shares, "target"),
        rows=tuple(_rows(answer, among)),
        notes=tuple(_notes(answer)),
        forms={"cost": "{:.1f}%", "quality": "{:.1f}%", **dict.fromkeys(shares, "{:.1%}")},
    )


def _notes(answer: WhatIf) -> Iterator[str]:
    for what, mix in answer.nudged.items():
        gain = mix.quality_percent - answer.now.quality_percent
        yield f"{what} cost ({mix.cost_percent:.1f}%) would be {gain:+.2f} points of quality ({mix.quality_percent:.1f}%)"
    if answer.explored is not None:
        mix = answer.explored
        yield f"with what it explores: cost {mix.cost_percent:.1f}%, quality {mix.quality_percent:.1f}%"


def _rows(answer: WhatIf, among: Sequence[str]) -> "Iterator[tuple[Cell, ...]]":
    for mix in answer.frontier:
        mark = f"<- {answer.target}" if mix == answer.now else ""
        yield (mix.cost_percent, mix.quality_percent, *(mix.shares[model] for model in among), mark)
