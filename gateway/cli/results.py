"""What a command found: a table or JSON on stdout, pictures in a folder. Where they go is tried before the work."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from gateway.cli.terminal import fail, say, show_json, show_table
from gateway.extras import needs
from gateway.settings import BadSettings

if TYPE_CHECKING:
    from classifiers.measuring.curves import Curves
    from classifiers.measuring.pictures import Picture
    from classifiers.measuring.report import Report

JsonOption = Annotated[bool, typer.Option("--json", help="print JSON instead of a table")]
PlotsOption = Annotated[Path | None, typer.Option("--plots", help="folder to draw into, as PNG (needs matplotlib)")]
SmallCostOption = Annotated[
    float, typer.Option(help="for frontier.png: a small call's price as a part of a large one's", min=0.0, max=1.0)
]


def give(found: msgspec.Struct, table: "Report", json: bool) -> None:
    """On stdout: one JSON object of all that was found, or the table alone, with its notes on stderr."""
    from classifiers.measuring.report import named

    if json:
        return show_json(named(found, table))
    show_table(table.title, table.columns, table.cells())
    for note in table.notes:
        say(note)


def draw_curves(curves: "Curves", folder: Path | None, small_cost: float = 0.0) -> None:
    """What there are curves for, and why there are none for the rest."""
    from classifiers.measuring.pictures import pictures

    draw(pictures(curves, small_cost), folder, curves.missing)


def draw(pictures: "Iterable[Picture]", folder: Path | None, missing: Mapping[str, str] | None = None) -> None:
    """Into the folder, if there is one; `missing` says of pictures that are not among these why."""
    if folder is None:
        return
    from classifiers.measuring.plots import draw as drawn

    for path in drawn(pictures, folder):
        say(f"drawn: {path}")
    for name, why in (missing or {}).items():
        say(f"no {name}.png: {why}")


def draw_as(picture: "Picture", path: Path) -> None:
    """Into a file of this name."""
    from classifiers.measuring.plots import draw_as as drawn

    drawn(picture, path)
    say(f"drawn: {path}")


@contextmanager
def drawable(folder: Path | None, option: str = "--plots") -> Iterator[None]:
    """Before anything is computed: is there a place for what shall be drawn, and a matplotlib?"""
    with writable(folder, option):
        if folder:
            try:
                with needs("plots", f"{folder} is to be drawn"):
                    import_module("matplotlib")
            except BadSettings as error:
                fail(str(error), code=1)
        yield


@contextmanager
def writable(folder: Path | None, option: str) -> Iterator[None]:
    """Before anything is computed: can files be put there? Folders that are made for it and stay empty are removed again."""
    fresh = [path for path in (folder, *folder.parents) if not path.exists()] if folder else []
    try:
        if folder:
            _try(folder, option)
        yield
    finally:
        for path in fresh:
            with suppress(OSError):  # it holds something
                path.rmdir()


def _try(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except (FileExistsError, NotADirectoryError):
        fail(f"{option} {folder}: a file stands there, and a folder is needed", code=1)
    except OSError as error:
        fail(f"{option} {folder} cannot be written: {error.strerror}", code=1)
