"""A person's own outcomes in a CSV file: prompts, and how well each model answered them. Every fault names its line."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SUFFIX = "_correct"
_MOST_CHARS = 1 << 24
_GZIP = b"\x1f\x8b"
_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


class OutcomesRefused(Exception):
    """The file can't be used; the message says file, line, what is wrong and what is expected."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is to be scored. Aligned by position; ids are distinct."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """`quality` float64 [n, models] in 0..1, columns as `models`."""

    prompts: Prompts
    models: tuple[str, ...]
    quality: Floats

    def __len__(self) -> int:
        return len(self.prompts)


def read_prompts(path: Path) -> Prompts:
    """The columns `prompt_id` and `prompt`; others are passed over. Raises OutcomesRefused."""
    return _prompts(path, list(rows_of(path, ("prompt_id", "prompt"))))


def read_outcomes(path: Path) -> Outcomes:
    """`prompt_id`, `prompt` and two or more `<model>_correct` with values 0..1. Raises OutcomesRefused.

    A header without rows is a file with no outcomes yet.
    """
    rows = list(rows_of(path, ("prompt_id", "prompt")))
    columns = [name for name in _header(path) if name.endswith(SUFFIX) and name != SUFFIX]
    if len(columns) < 2:
        raise OutcomesRefused(
            f"{path}:1 needs a column <model>{SUFFIX} for each of two or more models, such as small{SUFFIX} and "
            f"large{SUFFIX}; it has {', '.join(columns) or 'none'}"
        )
    quality = [[_quality(path, line, name, row[name]) for name in columns] for line, row in rows]
    models = tuple(name.removesuffix(SUFFIX) for name in columns)
    return Outcomes(_prompts(path, rows), models, np.array(quality, np.float64).reshape(len(rows), len(models)))


def first_and_last(models: Sequence[str]) -> tuple[int, int]:
    """Positions of the models that a gain is between: `small` and `large` where they stand there, else the outer two.

    >>> first_and_last(("small", "middle", "large", "huge"))
    (0, 2)
    """
    if "small" in models and "large" in models:
        return models.index("small"), models.index("large")
    return 0, len(models) - 1


def _prompts(path: Path, rows: Sequence[tuple[int, Mapping[str, str]]]) -> Prompts:
    seen: dict[str, int] = {}
    for line, row in rows:
        if not row["prompt_id"]:
            raise OutcomesRefused(f"{path}:{line} prompt_id is empty")
        if row["prompt_id"] in seen:
            raise OutcomesRefused(
                f"{path}:{line} prompt_id {row['prompt_id']!r} stands on line {seen[row['prompt_id']]} too"
            )
        seen[row["prompt_id"]] = line
    return Prompts(tuple(seen), tuple(row["prompt"] for _, row in rows))


def rows_of(path: Path, needed: Sequence[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Each row of a CSV file that has these columns, with the line it begins on.

    Space around a column's name is nothing. Raises OutcomesRefused.
    """
    for line, cells in _lines(path):
        if line == 1:
            names = _names(cells)
            if missing := [name for name in needed if name not in names]:
                raise OutcomesRefused(
                    f"{path}:1 lacks the column {missing[0]!r}; it has {', '.join(names) or 'none'}{_separated(names)}"
                )
            if doubled := [name for name in names if names.count(name) > 1]:
                raise OutcomesRefused(f"{path}:1 has the column {doubled[0]!r} twice")
        elif len(cells) != len(names):
            raise OutcomesRefused(f"{path}:{line} has {len(cells)} cells where the header has {len(names)}")
        else:
            yield line, dict(zip(names, cells, strict=True))


def _header(path: Path) -> list[str]:
    return next((_names(cells) for _, cells in _lines(path)), [])


def _names(cells: Sequence[str]) -> list[str]:
    return [name.strip() for name in cells]


def _separated(names: Sequence[str]) -> str:
    """What to do about a header that is one cell to a reader of commas."""
    by = next((word for mark, word in _OTHERS.items() if len(names) == 1 and mark in names[0]), None)
    return f": its columns are separated by {by}, so save it with commas" if by else ""


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    before = csv.field_size_limit(_MOST_CHARS)  # a prompt may be longer than a cell is by default
    try:
        text = path.read_bytes().decode("utf-8-sig")
        reader, begins = csv.reader(StringIO(text, newline=""), strict=True), 1
        for cells in reader:
            if cells:  # an empty line is nothing
                yield begins, cells
            begins = reader.line_num + 1
        if begins == 1:
            raise OutcomesRefused(f"{path}:1 is empty; it needs a header such as prompt_id,prompt,small{SUFFIX}")
    except csv.Error as error:
        raise OutcomesRefused(f"{path}:{begins} is not CSV: {error}") from error
    except UnicodeDecodeError as error:
        raise OutcomesRefused(_undecoded(path, error)) from error
    except OSError as error:
        raise OutcomesRefused(f"{path} cannot be read: {error.strerror}") from error
    finally:
        csv.field_size_limit(before)


def _undecoded(path: Path, error: UnicodeDecodeError) -> str:
    if error.object.startswith(_GZIP):
        return f"{path} is packed by gzip; unpack it first (gunzip)"
    line, byte = error.object.count(b"\n", 0, error.start) + 1, error.object[error.start]
    return f"{path}:{line} is not UTF-8 (a byte is 0x{byte:02x}); save it as UTF-8"


def _quality(path: Path, line: int, column: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise OutcomesRefused(f"{path}:{line} {column} is {cell!r}; a number from 0 (bad) to 1 (good) is expected")
    return value
