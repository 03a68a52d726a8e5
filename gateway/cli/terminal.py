"""Words and tables on a terminal: results go to stdout, everything else to stderr.

What draws tables is imported when one is drawn: a server draws none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from signal import SIGHUP, SIGTERM, signal
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import msgspec
import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

USAGE_ERROR = 2

_WORDS: Mapping[type[OSError], str] = {
    FileNotFoundError: "is not there",
    IsADirectoryError: "is a folder, and a file is needed",
    NotADirectoryError: "cannot be there: a file stands where a folder is needed",
    FileExistsError: "is a file, and a folder is needed",
    PermissionError: "may not be read or written by this user",
}


def say(text: str) -> None:
    """One line for the person who watches, on stderr."""
    typer.echo(text, err=True)


def fail(text: str, code: int = USAGE_ERROR) -> NoReturn:
    """Say what is wrong and end with `code`."""
    say(text)
    raise typer.Exit(code)


def in_words(error: Exception) -> str:
    """What is wrong with a file, without the number of the error."""
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    told = next((words for kind, words in _WORDS.items() if isinstance(error, kind)), None)
    return f"{error.filename} {told or f'cannot be used: {error.strerror}'}"


def show_json(value: object) -> None:
    """On stdout."""
    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def show_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout; columns of numbers are right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    lines = [list(row) for row in rows]
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        numeric = bool(lines) and all(_is_number(line[i]) for line in lines)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold", no_wrap=i == 0)
    for line in lines:
        table.add_row(*(cell.replace("[", r"\[") for cell in line))
    Console(highlight=False).print(table)


def _is_number(cell: str) -> bool:
    return bool(cell) and cell.lstrip("+-$").replace(".", "").replace(",", "").replace("%", "").isdigit()


class Bar:
    """A progress bar on stderr for steps that are counted in bytes."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._task: TaskID | None = None

    def start(self, what: str, total: int) -> None:
        self._task = self._progress.add_task(what, total=total or None)

    def advance(self, count: int) -> None:
        if self._task is not None:
            self._progress.advance(self._task, count)


@contextmanager
def bar() -> Iterator[Bar]:
    """Progress bars for the time of the block."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=False) as progress:
        yield Bar(progress)


@contextmanager
def unwound() -> Iterator[None]:
    """For the time of the block SIGTERM and SIGHUP raise SystemExit, as Ctrl-C raises, so that what is half written is
    removed. Call it from the main thread."""
    before = {number: signal(number, _leave) for number in (SIGTERM, SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
