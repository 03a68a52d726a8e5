"""`turnout whatif`: what the models of a route can come to on the calibration sample, and where its target sits."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateway.cli.classifier import needs_plots
from gateway.cli.policy import Opened, PolicyArgument, opened
from gateway.cli.terminal import fail, say, show_table
from policies.policy import Choose, Expected, Route, Target
from policies.targets import Infeasible, Rung, dearest_within, mixes, solve, steps

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
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of tables")] = False,
    plot: Annotated[Path | None, typer.Option(help="PNG file to draw the frontier into")] = None,
) -> None:
    """Show which mixes of cost and quality a route can come to, where its target sits, and what a little more would buy.

    Exit code 2 when the target cannot be held.
    """
    with needs_plots(plot), opened(policy) as found:
        chosen, choose = chosen_route(found, route)
        answer = look(chosen.name, aimed(choose, target), choose, rungs_of(found, choose), chosen.explore)
    if plot:
        draw(answer, plot)
    if as_json:
        return print(json.dumps(msgspec.to_builtins(answer), indent=2))
    show(answer, choose.among)


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
    shown = sorted([*steps(frontier, ROWS), solved.expected], key=lambda mix: mix.cost_percent)
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


def draw(answer: WhatIf, path: Path) -> None:
    """The frontier as PNG; needs matplotlib."""
    from classifiers.measuring.plots import draw_frontier

    frontier = answer.frontier
    draw_frontier(
        path, [mix.cost_percent for mix in frontier], [mix.quality_percent for mix in frontier],
        (answer.now.cost_percent, answer.now.quality_percent), answer.target.of,
    )  # fmt: skip
    say(f"drawn: {path}")


def show(answer: WhatIf, among: Sequence[str]) -> None:
    head = ("cost", "quality", *(f"to {model}" for model in among), "")
    show_table(f"route {answer.route}, in percent of {answer.target.of}", head, list(_rows(answer, among)))
    for what, mix in answer.nudged.items():
        gain = mix.quality_percent - answer.now.quality_percent
        say(
            f"{what} cost ({mix.cost_percent:.1f}%) would be {gain:+.2f} points of quality ({mix.quality_percent:.1f}%)"
        )
    say_explored(answer)


def say_explored(answer: WhatIf) -> None:
    if answer.explored is not None:
        mix = answer.explored
        say(f"with what it explores: cost {mix.cost_percent:.1f}%, quality {mix.quality_percent:.1f}%")


def _rows(answer: WhatIf, among: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for mix in answer.frontier:
        shares = [f"{mix.shares[model]:.1%}" for model in among]
        mark = f"<- {answer.target}" if mix == answer.now else ""
        yield f"{mix.cost_percent:.1f}%", f"{mix.quality_percent:.1f}%", *shares, mark
