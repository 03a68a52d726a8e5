"""The reference of the policy file's keys, as tables, from the one declaration of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from policies.language.schema import json_schema


def reference() -> str:
    """Markdown: one table for each kind of map, the file itself first."""
    schema = json_schema()
    tables = [_table("the file", schema)]
    tables += [_table(_called(name), entry) for name, entry in schema["$defs"].items() if "properties" in entry]
    return "\n\n".join(tables)


def _table(name: str, entry: Mapping[str, Any]) -> str:
    rows = [f"**{name}**: {entry['description']}", "", "| key | what it says | for example | when not stated |"]
    return "\n".join([*rows, "| --- | --- | --- | --- |", *_rows(entry)])


def _rows(entry: Mapping[str, Any]) -> Iterator[str]:
    needed = entry.get("required", ())
    for key, value in entry["properties"].items():
        example = ", ".join(f"`{_spell(example)}`" for example in value.get("examples", ())) or _options(value)
        silent = "(must be stated)" if key in needed else _spell(value["default"]) if "default" in value else ""
        yield f"| `{key}` | {value['description']} | {example} | {silent} |"
    if "patternProperties" in entry:
        yield '| `header.NAME` | Value of this request header; a list means any of them. | `header.x-batch: "true"` | |'


def _options(value: Mapping[str, Any]) -> str:
    if "enum" in value:
        return ", ".join(f"`{word}`" for word in value["enum"])
    inner = value.get("$ref") or value.get("items", {}).get("$ref") or value.get("additionalProperties", {}).get("$ref")
    return f"see {_called(inner.rpartition('/')[2])}" if inner else ""


def _called(name: str) -> str:
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name.removesuffix("Entry"))
    return words.strip()


def _spell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_spell, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_spell(inner)}' for key, inner in value.items())}}}"
    return str(value)
