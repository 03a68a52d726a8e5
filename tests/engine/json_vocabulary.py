"""A vocabulary that can write JSON, noise that would rather not, and schemas to hold it to."""

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from engine.stub_models import StubVocabulary
from hypothesis import strategies as st

from backends.engine.api import Grammar
from backends.engine.grammar.asked import asked_schema
from backends.engine.grammar.compile import Grammars

EOS, CONTROL, SIZE = 300, 301, 320
LONG_PIECES = (
    '{"',
    '":',
    '": ',
    '", "',
    "true",
    "fal",
    "null",
    "}]",
    "\\u",
    "12",
    "-0.5",
    "é",
    "\u2028",
    "name",
    "  ",
    "}",
)
QUOTE_EARLY = {ord('"'): 2.5, ord("}"): 1.0}
"""A bias by which noise ends its strings: without it one goes on for some 300 tokens."""


class JsonVocabulary(StubVocabulary):
    """Ids 0 to 255 are the bytes, then come longer pieces, an end token and a control token; the rest have no bytes."""

    def __init__(self, *, adds_space: bool = False, eos: int | None = EOS) -> None:
        super().__init__({}, eos=eos, size=SIZE)
        self.control_ids = frozenset({EOS, CONTROL})
        self._adds_space = adds_space
        for byte in range(256):
            self._pieces[byte] = bytes([byte])
        for token, piece in enumerate(LONG_PIECES, 256):
            self._pieces[token] = piece.encode()

    def encode(self, text: str) -> list[int]:
        """Byte by byte; with `adds_space` as tokenizers do that put a space before every text."""
        return list(b" " * self._adds_space + text.encode())


VOCABULARY = JsonVocabulary()


@cache
def grammars() -> Grammars:
    return Grammars(VOCABULARY, SIZE)


def asks(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A `response_format`."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def compiled(schema: Mapping[str, Any], by: Grammars | None = None) -> Grammar:
    written = asked_schema(asks(schema))
    assert written is not None
    return asyncio.run((by or grammars()).compiled(written))


def closed(**properties: Any) -> dict[str, Any]:
    """An object with all of these and nothing else."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


WORD = {"type": "string", "maxLength": 8}
SCHEMAS: dict[str, dict[str, Any]] = {
    "flat": closed(name=WORD, age={"type": "integer", "minimum": 0, "maximum": 150}, alive={"type": "boolean"}),
    "nested": closed(of=closed(of=closed(of={"type": ["string", "null"], "maxLength": 3}))),
    "list": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 4},
    "enum": closed(colour={"enum": ["red", "green", "éclair", 7, None]}, kind={"const": "x\n\"y\""}),
    "optional": closed() | {"properties": {"a": WORD, "b": {"type": "integer"}, "c": {"type": "null"}}},
    "union": {"anyOf": [closed(a=WORD), closed(b={"type": "array", "items": {"type": "boolean"}, "maxItems": 3})]},
    "pattern": closed(plate={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3,4}$"}),
    "format": closed(day={"type": "string", "format": "date"}, at={"type": "string", "format": "ipv4"}),
    "tree": {
        "$defs": {"node": closed(value={"type": "integer"}, next={"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]})},
        "$ref": "#/$defs/node",
    },
    "merged": {"allOf": [{"type": "object", "properties": {"a": WORD}}, closed(a={"type": "string"}, b=WORD)]},
    "pair": {"type": "array", "prefixItems": [WORD, {"type": "integer", "multipleOf": 5}], "items": False, "minItems": 2},
    "tagged": {"oneOf": [closed(kind={"const": kind}, size={"type": "integer"}) for kind in ("circle", "square")]},
}  # fmt: skip
"""What people ask for, bounded, so that noise comes to an end."""

_LEAVES = st.sampled_from([
    WORD,
    {"type": "integer", "minimum": -20, "maximum": 999},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "null"},
    {"enum": ["a", "b c", 'quote"', "\\", "日本", 1.5, True]},
    {"type": "string", "pattern": "^(ab|[0-9]{1,3})c?$"},
])  # fmt: skip
_NAMES = st.text('ab _é"\\/', min_size=1, max_size=4)
schemas = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.dictionaries(_NAMES, inner, max_size=3).map(lambda properties: closed(**properties)),
        st.builds(
            lambda items, least: {"type": "array", "items": items, "minItems": least, "maxItems": least + 2},
            inner,
            st.integers(0, 2),
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches}),
    ),
    max_leaves=6,
)
"""Schemas that every answer of noise can fulfil in some hundred tokens."""


def parsed(text: str) -> Any:
    return msgspec.json.decode(text)
