"""JSON with one value put in another's place: what a reader meets when somebody errs, or lies."""

import json
from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]

MISFITS: tuple[str, ...] = (
    *("null", "true", "false", "0", "-1", "1", "1.0", "1.5", "1e2", "1e308", "1e-400", '""', '"x"', "[]", "{}", "[[]]"),
    *("1" * 30, "18446744073709551616", "-9223372036854775809", "9223372036854775808", "1e999", '{"a":1e999}'),
    *("[null]", "[1]", '["a"]', "[{}]", '{"type":null}', '{"type":"text"}', '{"":{}}', '{"a":1,"a":2}'),
    *('"\\ud83d"', '{"\\ud83d":1}', '"\\u0000"', '"\u2028\U0001f600"', "NaN", "Infinity", "[" * 300 + "]" * 300),
)
"""Raw texts: not all of them are JSON."""


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Of every value inside, and of the whole."""
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(inner, (*at, key))


def with_misfit(value: Any, at: Path, raw: str) -> bytes:
    return _written(value, at, raw).encode("utf-8")


def _written(value: Any, at: Path | None, raw: str) -> str:
    if at == ():
        return raw
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{json.dumps(key)}:{_written(one, _below(at, key), raw)}" for key, one in value.items())
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(_written(one, _below(at, index), raw) for index, one in enumerate(value)) + "]"
    return json.dumps(value)


def _below(at: Path | None, key: str | int) -> Path | None:
    return at[1:] if at and at[0] == key and type(at[0]) is type(key) else None
