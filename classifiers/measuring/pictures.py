"""What is drawn of curves: lines between axes, as values. The files that they become are plots.py's."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from classifiers.measuring.curves import Curves, Deferral, Reliability

Look = Literal["thin", "thick", "marks", "dashes", "point", "grey"]
Numbers = Sequence[float]

_CHANCE = ("predicted P(good)", "observed")
_QUALITY = "mean quality"
_OURS = ("turnout", "first", "second")


class Line(msgspec.Struct, frozen=True):
    """`across` and `up` are aligned by position."""

    label: str
    across: Numbers
    up: Numbers
    look: Look = "thin"


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is that of the file, without its ending."""

    name: str
    across: str
    up: str
    lines: tuple[Line, ...]
    title: str = ""


def pictures(curves: Curves, small_cost: float) -> Iterator[Picture]:
    """reliability, deferral and frontier, as far as there are curves for them; `small_cost` is the price of a small call as a
    part of a large one's."""
    if curves.reliability:
        yield reliability(curves)
    if curves.deferral:
        yield deferral(curves.deferral, curves.pair)
        yield frontier(curves.deferral, curves.pair, small_cost)


def reliability(curves: Curves) -> Picture:
    """A line for each model, and one for what it was before."""
    after = ", after" if curves.before else ""
    before = [_chances(f"{model}, before", found, "dashes") for model, found in curves.before.items()]
    return _reliability(
        before + [_chances(f"{model}{after}", found, "marks") for model, found in curves.reliability.items()]
    )


def deferral(routers: Mapping[str, Deferral], pair: tuple[str, str]) -> Picture:
    """A line for each router, those of an artefact thick."""
    small, large = pair
    across = f"share of prompts to {large}, the others to {small}"
    return Picture(name="deferral", across=across, up=_QUALITY, lines=_routers(routers))


def frontier(routers: Mapping[str, Deferral], pair: tuple[str, str], small_cost: float) -> Picture:
    """The same by what it costs."""
    small, large = pair
    across = f"cost, as a part of all to {large} (a call of {small}: {small_cost:g})"
    costs = {name: costing(curve, small_cost) for name, curve in routers.items()}
    return Picture(name="frontier", across=across, up=_QUALITY, lines=_routers(costs))


def costing(curve: Deferral, small_cost: float) -> Deferral:
    """The same with each share of large calls as the cost of the whole, all large being 1.

    >>> costing(Deferral((0.0, 0.5), (0.6, 0.7)), 0.2).share
    (0.2, 0.6)
    """
    return Deferral(tuple(round(share + (1 - share) * small_cost, 9) for share in curve.share), curve.quality)


def both(first: Curves, second: Curves, titles: Mapping[str, str]) -> Iterator[Picture]:
    """Of two artefacts on the same prompts: reliability and deferral in one picture each, with the titles of these names."""
    sides: tuple[tuple[str, Curves, Look], ...] = (("first", first, "dashes"), ("second", second, "marks"))
    chances = [
        _chances(f"{model}, {name}", found, look)
        for name, curves, look in sides
        for model, found in curves.reliability.items()
    ]
    yield msgspec.structs.replace(_reliability(chances), title=titles["reliability"])
    ours = {"first": first.deferral["turnout"], "second": second.deferral["turnout"]}
    others = {name: curve for name, curve in second.deferral.items() if name != "turnout"}
    yield msgspec.structs.replace(deferral({**ours, **others}, second.pair), title=titles["deferral"])


def mixes(cost: Numbers, quality: Numbers, target: tuple[float, float], of: str) -> Picture:
    """What a route can come to, in percent of what the model `of` alone does; `target` is where its target sits."""
    here = f"the target: {target[0]:.1f} % cost, {target[1]:.1f} % quality"
    return Picture(
        name="frontier", across=f"cost, % of {of}", up=f"expected quality, % of {of}",
        lines=(Line("what can be had", cost, quality, "marks"), Line(here, target[:1], target[1:], "point")),
    )  # fmt: skip


def _reliability(chances: Sequence[Line]) -> Picture:
    across, up = _CHANCE
    exact = Line("as predicted", (0, 1), (0, 1), "grey")
    return Picture(name="reliability", across=across, up=up, lines=(exact, *chances))


def _chances(label: str, found: Reliability, look: Look) -> Line:
    return Line(label, found.predicted, found.observed, look)


def _routers(routers: Mapping[str, Deferral]) -> tuple[Line, ...]:
    return tuple(
        Line(name, curve.share, curve.quality, "thick" if name in _OURS else "thin") for name, curve in routers.items()
    )
