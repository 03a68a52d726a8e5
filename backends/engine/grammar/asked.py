"""From a request's `response_format` to the JSON schema that its answer must obey, and what is refused unread."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import lcm
from typing import Any

import msgspec

from backends.errors import UpstreamError

SCHEMA_BYTES = 32 << 10
MOST_MULTIPLE = 10_000
"""Least common multiple of every `multipleOf`: the automaton of such a number has that many states, 10_000 take 25 ms."""

_OBJECT = b'{"type":"object"}'


def refused(why: str) -> UpstreamError:
    return UpstreamError("unsupported", why, sent=False, param="response_format")


def asked_schema(response_format: Mapping[str, Any] | None) -> bytes | None:
    """The schema as JSON; None when any text will do. A schema is obeyed whether or not it says `strict`.

    Raises UpstreamError (unsupported) for other formats and for schemas too large to be looked at.

    >>> asked_schema({"type": "json_object"})
    b'{"type":"object"}'
    """
    match response_format:
        case None | {"type": "text"}:
            return None
        case {"type": "json_object"}:
            return _OBJECT
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return _checked(dict(schema))
        case {"type": "json_schema"}:
            raise refused("response_format.json_schema.schema must be a JSON schema, written as an object")
        case {"type": kind}:
            raise refused(f"response_format {kind} is not known here; text, json_object and json_schema are")
        case _:
            raise refused("response_format needs a type")


def _checked(schema: dict[str, Any]) -> bytes:
    """`x-guidance` holds orders to the compiler, which are not the client's to give."""
    schema.pop("x-guidance", None)
    try:
        written = msgspec.json.encode(schema)
    except RecursionError:
        raise refused("the schema is nested too deeply") from None
    if len(written) > SCHEMA_BYTES:
        raise refused(f"the schema is longer than {SCHEMA_BYTES} bytes; shorten it")
    if lcm(*_multiples(schema)) > MOST_MULTIPLE:
        raise refused(f"multipleOf leads to more than {MOST_MULTIPLE} cases; use smaller numbers")
    return written


def _multiples(schema: dict[str, Any]) -> Iterator[int]:
    """Every `multipleOf` without its decimal point."""
    parts: list[Any] = [schema]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts.extend(part.values())
            number = part.get("multipleOf")
            if isinstance(number, int | float) and not isinstance(number, bool) and number > 0:
                yield _whole(Decimal(str(number)))
        elif isinstance(part, list):
            parts.extend(part)


def _whole(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return int(number.scaleb(-exponent) if isinstance(exponent, int) and exponent < 0 else number)
