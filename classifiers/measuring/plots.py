"""Pictures as PNG files. The only file that knows matplotlib, which is imported when something is drawn."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from classifiers.files import write_whole
from classifiers.measuring.pictures import Line, Look, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES, _DOTS = (6.4, 4.8), 120


class _Style(NamedTuple):
    linewidth: float = 1.5
    linestyle: str = "-"
    marker: str = ""
    colour: str | None = None


_STYLES: Mapping[Look, _Style] = {
    "thin": _Style(linewidth=1.0),
    "thick": _Style(linewidth=2.0),
    "marks": _Style(marker="o"),
    "dashes": _Style(linewidth=1.0, linestyle="--", marker="x"),
    "point": _Style(linestyle="none", marker="o"),
    "grey": _Style(linewidth=0.8, colour="grey"),
}


def draw(pictures: Iterable[Picture], folder: Path) -> list[Path]:
    """Writes each as a PNG file of its name into `folder`, which is made; returns where they are.

    Raises OSError; ModuleNotFoundError without matplotlib.
    """
    drawn = {folder / f"{picture.name}.png": png(picture) for picture in pictures}
    write_whole(drawn)
    return list(drawn)


def draw_as(picture: Picture, path: Path) -> None:
    """The same into one file, whatever it is called."""
    write_whole({path: png(picture)})


def png(picture: Picture) -> bytes:
    """No window system and no state of pyplot is touched. Raises ModuleNotFoundError without matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure, written = Figure(figsize=_INCHES, dpi=_DOTS, layout="tight"), BytesIO()
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for line in picture.lines:
        _plot(axes, line)
    axes.set_xlabel(_plain(picture.across))
    axes.set_ylabel(_plain(picture.up))
    axes.set_title(_plain(picture.title), fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(written, format="png")
    return written.getvalue()


def _plot(axes: "Axes", line: Line) -> None:
    style = _STYLES[line.look]
    axes.plot(
        line.across, line.up, label=_plain(line.label), linewidth=style.linewidth, linestyle=style.linestyle,
        marker=style.marker, color=style.colour,
    )  # fmt: skip


def _plain(text: str) -> str:
    """A person's name of a model is no formula, and a legend passes over what begins with a line. What the font has not is told
    by number: of boxes nobody could tell one model from another."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    known = get_font(findfont(FontProperties())).get_charmap()
    told = "".join(c if ord(c) in known else f"U+{ord(c):04X} " for c in text).replace("$", r"\$")
    return f" {told}" if told.startswith("_") else told
