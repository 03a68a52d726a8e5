"""Curves as PNG files. The only file that knows matplotlib, which is imported when something is drawn."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from classifiers.measuring.curves import Curves, Deferral, Reliability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES, _DOTS = (6.4, 4.8), 120


def draw(curves: Curves, folder: Path, *, small_cost: float) -> list[Path]:
    """Writes reliability.png, deferral.png and frontier.png into `folder`, which is made; returns where they are.

    `small_cost` is the price of a small call as a part of a large one's. Raises ModuleNotFoundError without matplotlib.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png" for name in ("reliability", "deferral", "frontier")]
    with _axes(paths[0], "predicted P(good)", "observed") as axes:
        _reliability(axes, curves.reliability)
    with _axes(paths[1], "share of prompts to the large model", "mean quality") as axes:
        _lines(axes, curves.deferral)
    with _axes(paths[2], f"cost, as a part of all large (a small call: {small_cost:g})", "mean quality") as axes:
        _lines(axes, {name: costing(curve, small_cost) for name, curve in curves.deferral.items()})
    return paths


def draw_frontier(
    path: Path, cost: Sequence[float], quality: Sequence[float], now: tuple[float, float], of: str
) -> None:
    """Costs and qualities in percent of what the model `of` alone comes to; `now` is where the target sits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _axes(path, f"cost, % of {of}", f"expected quality, % of {of}") as axes:
        axes.plot(cost, quality, marker=".", label="what can be had")
        axes.plot(*now, marker="o", linestyle="none", label=f"the target: {now[0]:.1f} % cost, {now[1]:.1f} % quality")


def costing(curve: Deferral, small_cost: float) -> Deferral:
    """The same with each share of large calls as the cost of the whole, all large being 1.

    >>> costing(Deferral((0.0, 0.5), (0.6, 0.7)), 0.2).share
    (0.2, 0.6)
    """
    return Deferral(tuple(round(share + (1 - share) * small_cost, 9) for share in curve.share), curve.quality)


def _reliability(axes: "Axes", models: Mapping[str, Reliability]) -> None:
    axes.plot((0, 1), (0, 1), color="grey", linewidth=0.8, label="as predicted")
    for model, found in models.items():
        axes.plot(found.predicted, found.observed, marker="o", label=model)


def _lines(axes: "Axes", routers: Mapping[str, Deferral]) -> None:
    for name, curve in routers.items():
        wide = 2.0 if name == "turnout" else 1.0
        axes.plot(curve.share, curve.quality, linewidth=wide, label=name)


@contextmanager
def _axes(path: Path, across: str, up: str) -> "Iterator[Axes]":
    """Axes whose figure is written to `path` at the end; no window system and no state of pyplot is touched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=_DOTS, layout="tight")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    yield axes
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, format="png")
