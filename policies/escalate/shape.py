"""Has an answer the form that was asked of it: JSON, a schema, a call of a tool that exists?

Of JSON Schema the words that structured output is made of are judged (type, enum, const, required, properties,
additionalProperties, items, anyOf); what else a schema says counts as kept.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from policies.escalate.said import Said, SaidCall, Schema, Wanted

DEEPEST = 32

IS: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}


def misshapen(said: Said, wanted: Wanted) -> bool:
    """Whether it breaks the form. Of an answer that goes on, only its first character can tell."""
    if said.calls:
        return said.whole and any(not calls_well(call, wanted) for call in said.calls)
    if not wanted.json:
        return False
    text = said.text.strip()
    if not said.whole:
        return bool(text) and text[0] not in '{["-0123456789tfn'
    known, value = read(text)
    return not known or (wanted.schema is not None and not fits(value, wanted.schema))


def calls_well(call: SaidCall, wanted: Wanted) -> bool:
    """A tool of the request, with arguments that it takes.

    >>> calls_well(SaidCall("f", "{}"), Wanted(tools={"f": {"required": ["a"]}}))
    False
    """
    schema = wanted.tools.get(call.name)
    known, value = read(call.arguments or "{}")
    return schema is not None and known and isinstance(value, dict) and fits(value, schema)


def read(text: str) -> tuple[bool, Any]:
    try:
        return True, msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False, None


def fits(value: Any, schema: object, depth: int = 0) -> bool:
    """
    >>> fits({"a": [1, 2.5]}, {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}})
    False
    """
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return schema is not False
    if not of_type(value, schema.get("type")) or not one_of(value, schema):
        return False
    options = schema.get("anyOf")
    if isinstance(options, list) and not any(fits(value, option, depth + 1) for option in options):
        return False
    if isinstance(value, dict):
        return object_fits(value, schema, depth)
    items = schema.get("items")
    return not isinstance(value, list) or items is None or all(fits(item, items, depth + 1) for item in value)


def of_type(value: object, kinds: object) -> bool:
    if kinds is None:
        return True
    known = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(kind, str) and kind in IS]
    return not known or any(IS[kind](value) for kind in known)


def one_of(value: object, schema: Schema) -> bool:
    if "const" in schema and value != schema["const"]:
        return False
    options = schema.get("enum")
    return not isinstance(options, list) or value in options


def object_fits(value: Mapping[str, Any], schema: Schema, depth: int) -> bool:
    stated, required = schema.get("properties"), schema.get("required")
    properties = stated if isinstance(stated, Mapping) else {}
    if isinstance(required, list) and any(isinstance(name, str) and name not in value for name in required):
        return False
    others = schema.get("additionalProperties", True)
    return all(fits(inner, properties.get(name, others), depth + 1) for name, inner in value.items())
