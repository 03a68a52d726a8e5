"""A table with its notes: what training and evaluating hand back."""

import json
from pathlib import Path

import msgspec


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """`rows` have one cell per column, already rounded for reading; `notes` are whole sentences."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table as a README shows it."""
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def write(self, path: Path) -> None:
        """The same as JSON, for machines."""
        path.write_text(json.dumps(msgspec.to_builtins(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
