"""A table with its notes, for reading and as JSON: what training and measuring hand back."""

import math
from collections.abc import Mapping
from pathlib import Path

import msgspec

from classifiers.files import write_whole

Bounds = tuple[float | None, float | None]
Cell = str | int | float | Bounds | None

_NONE = "–"
_THREE_DIGITS = "{:.3f}"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """`rows` have one cell per column, numbers as they are; `notes` are whole sentences. `forms` says how the numbers of a
    column are written for reading, by its name; three digits where it says nothing."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    forms: Mapping[str, str] = {}

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The rows for reading."""
        forms = [self.forms.get(name) for name in self.columns]
        return tuple(tuple(map(shown, row, forms)) for row in self.rows)

    def markdown(self) -> str:
        """The table as a README shows it."""
        lines = [self.columns, tuple("---" for _ in self.columns), *self.cells()]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def write(self, path: Path) -> None:
        """The same as JSON, for machines."""
        text = msgspec.json.format(msgspec.json.encode(named(self, self)), indent=1)
        write_whole({path: text + b"\n"})


def named(found: msgspec.Struct, table: Report) -> Mapping[str, object]:
    """What was found, by name, beside the table of it, to be written as JSON: numbers are numbers in it."""
    whole: dict[str, object] = msgspec.to_builtins(found) | msgspec.to_builtins(table)
    del whole["forms"]
    return whole


def shown(cell: Cell, form: str | None = None) -> str:
    """One cell for reading.

    >>> shown(0.25), shown(3), shown(None), shown((0.1, 0.25)), shown((-0.1, 0.2), "{:+.1f}")
    ('0.250', '3', '–', '0.100–0.250', '-0.1 to +0.2')
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, tuple):
        low, high = (shown(bound, form) for bound in cell)
        return f"{low} to {high}" if form else f"{low}–{high}"
    if cell is None or not math.isfinite(cell):
        return _NONE
    return (form or ("{}" if isinstance(cell, int) else _THREE_DIGITS)).format(cell)
