"""Tools of Chat Completions, and which of them may be called, in Messages."""

from collections.abc import Mapping
from typing import Any

import msgspec

from backends.dialects.faults import RequestFault, decode_body

_NOTHING = msgspec.Raw()
_EMPTY = msgspec.Raw(b'{"type":"object","properties":{}}')
"""OpenAI's reference: a function without parameters has an empty list of them."""
_OBJECT = msgspec.Raw(b'"object"')


class _Function(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    description: str | None = None
    parameters: msgspec.Raw = _NOTHING
    strict: bool | None = None


class _Tool(msgspec.Struct, tag_field="type", tag="function", forbid_unknown_fields=True):
    function: _Function
    cache_control: msgspec.Raw = _NOTHING


class _Named(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class _Choice(msgspec.Struct, tag_field="type", tag="function", forbid_unknown_fields=True):
    function: _Named


_TOOLS = msgspec.json.Decoder(list[msgspec.Raw])
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TOOL = msgspec.json.Decoder(_Tool)
_CHOICE = msgspec.json.Decoder(str | _Choice)
WORDS: Mapping[str, str] = {"auto": "auto", "none": "none", "required": "any"}


def is_told(raw: msgspec.Raw) -> bool:
    return bytes(raw) not in (b"", b"null")


def tools_of(raw: msgspec.Raw, name: str) -> Mapping[str, Any]:
    """Raises RequestFault."""
    tools = [_tool(decode_body(_TOOL, bytes(tool), f"{name}[{at}]")) for at, tool in enumerate(_TOOLS.decode(raw))]
    return {"tools": tools} if tools else {}


def _tool(tool: _Tool) -> dict[str, Any]:
    function = tool.function
    made: dict[str, Any] = {"name": function.name}
    if function.description is not None:
        made["description"] = function.description
    made["input_schema"] = _schema(function.parameters) if is_told(function.parameters) else _EMPTY
    if function.strict is not None:
        made["strict"] = function.strict
    if is_told(tool.cache_control):
        made["cache_control"] = tool.cache_control
    return made


def _schema(raw: msgspec.Raw) -> Any:
    """What functions take is an object: servers of this dialect want to read it, others take it as read."""
    fields = _FIELDS.decode(raw) if bytes(memoryview(raw)[:1]) == b"{" else {"type": _OBJECT}
    return raw if "type" in fields else {"type": _OBJECT, **fields}


def choice_of(raw: msgspec.Raw, name: str) -> Mapping[str, Any]:
    """Raises RequestFault."""
    choice = decode_body(_CHOICE, bytes(raw), name)
    if isinstance(choice, _Choice):
        return {"tool_choice": {"type": "tool", "name": choice.function.name}}
    if choice not in WORDS:
        raise RequestFault(f"{name} is none of auto, none, required, or a function.", name)
    return {"tool_choice": {"type": WORDS[choice]}}
