"""What validation found, said for the writer of the file: where it stands, what is wrong, what was probably meant."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from policies.language.closed import WithHeaders
from policies.language.fields import HEADERS
from policies.language.problem import Problem, Source
from policies.language.schema import PolicyFile
from policies.language.tree import At, Entries, Items, Node, Path, Scalar, descend, spell, where_key, where_value

KINDS = {
    "string_type": "should be a text; put it in quotes",
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "bool_type": "should be true or false",
    "list_type": "should be a list",
    "dict_type": "should be a map of keys and values",
    "model_type": "should be a map of keys and values",
    "string_too_short": "should not be empty",
    "string_too_long": "is too long",
    "int_parsing_size": "is too large",
}
"""pydantic's error type → our words. Types that are absent here bring words of their own."""


def problems_of(error: ValidationError, source: Source, root: Node) -> list[Problem]:
    """One problem for each fault, in the order of the file."""
    found = [_problem(fault, source, root) for fault in error.errors(include_url=False)]
    return sorted(set(found), key=lambda problem: (problem.line, problem.column, problem.message))


def nulls(source: Source, node: Node, path: Path = ()) -> Iterator[Problem]:
    """Keys without a value. They would read as "not stated", which a half-written condition does not mean."""
    if isinstance(node, Entries):
        for entry in node.entries:
            if isinstance(entry.node, Scalar) and entry.node.value is None:
                yield source.problem(entry.at, f"{'.'.join(map(str, (*path, entry.key)))} has no value")
            yield from nulls(source, entry.node, (*path, entry.key))
    elif isinstance(node, Items):
        for index, item in enumerate(node.items):
            if isinstance(item, Scalar) and item.value is None:
                yield source.problem(item.at, f"{'.'.join(map(str, path))} has an item without a value")
            yield from nulls(source, item, (*path, index))


def did_you_mean(word: object, known: Sequence[str]) -> str:
    """`; did you mean "fallback"?`, or what there is to choose from.

    >>> did_you_mean("fallbck", ["fallback", "use"])
    '; did you mean "fallback"?'
    """
    return _close(word, known) or (f"; there is: {', '.join(known)}" if known else "")


def _problem(fault: ErrorDetails, source: Source, root: Node) -> Problem:
    path = path_of(fault)
    at, message = _place(fault, root, path), _message(fault, root, path)
    return source.problem(at, message)


def path_of(fault: ErrorDetails) -> Path:
    """Where the fault stands in the file; pydantic's own markers left out."""
    return tuple(part for part in fault["loc"] if part not in ("[key]", "[word]", "[map]", HEADERS))


def _place(fault: ErrorDetails, root: Node, path: Path) -> At:
    if fault["type"] == "missing":
        return where_key(root, path[:-1])
    about_key = fault["type"] in (
        "extra_forbidden",
        "exactly_one",
        "empty_range",
        "expects_nothing",
        "never_escalates",
        "no_draft",
        "no_graphs",
        "no_worker",
        "moves_freely",
    )
    return where_key(root, path) if about_key or "[key]" in fault["loc"] else where_value(root, path)


def _message(fault: ErrorDetails, root: Node, path: Path) -> str:
    kind, name = fault["type"], spell(root, path) or "the policy"
    if kind == "model_type" and isinstance(path[-1], int):
        name = f"an item of {name}"
    if kind == "extra_forbidden":
        return f"{name} is not a key here{_other_key(root, path)}"
    if kind == "missing":
        return f'{spell(root, path[:-1]) or "the policy"} needs the key "{path[-1]}"'
    if kind == "literal_error":
        words = _words(fault)
        told = "should be" if len(words) == 1 else "should be one of"
        return f"{name} {told} {', '.join(words)}{_close(fault['input'], words)}"
    if kind == "too_short":
        return f"{name} {_too_few(fault, path)}"
    if kind == "value_error":
        return f"{name} {fault['msg'].removeprefix('Value error, ')}"
    return f"{name} {KINDS.get(kind) or fault['msg'].removeprefix('Input ')}"


def _too_few(fault: ErrorDetails, path: Path) -> str:
    least = fault["ctx"]["min_length"]
    if least == 1:
        return "should not be empty"
    return f"needs {least} entries at least{'; a route with one model is `use: ...`' if path[-1] == 'among' else ''}"


def _words(fault: ErrorDetails) -> list[str]:
    expected = str(fault.get("ctx", {}).get("expected", ""))
    words = [word.strip("' ") for word in expected.replace(" or ", ", ").split(",")]
    return [{"True": "true", "False": "false"}.get(word, word) for word in words]


def _other_key(root: Node, path: Path) -> str:
    """A similar key that is not there yet, or all keys of this map."""
    keys = keys_at(path[:-1])
    if str(path[-1]).startswith("header.") and HEADERS in keys:
        return "; names of headers are written in lower case"
    free = [key for key in keys if not _stands(root, (*path[:-1], key))]
    return _close(path[-1], free) or f"; keys here are: {', '.join(keys)}"


def _close(word: object, known: Sequence[str]) -> str:
    close = get_close_matches(str(word), known, n=1, cutoff=0.6)
    return f'; did you mean "{close[0]}"?' if close else ""


def _stands(root: Node, path: Path) -> bool:
    return len(list(descend(root, path))) == len(path)


def keys_at(path: Path) -> list[str]:
    """Keys that a map at `path` of the file may have.

    >>> keys_at(("models", "small", "price"))
    ['input', 'cached_input', 'cache_write', 'output']
    """
    model: type[BaseModel] = PolicyFile
    is_name = False
    for part in path:
        if is_name or isinstance(part, int):
            is_name = False
            continue
        field = next((f for key, f in model.model_fields.items() if part == (f.alias or key)), None)
        inner = None if field is None else _model_in(field.annotation)
        if field is None or inner is None:
            return []
        model, is_name = inner, get_origin(field.annotation) is dict
    own = [field.alias or key for key, field in model.model_fields.items() if field.alias != HEADERS]
    return [*own, HEADERS] if issubclass(model, WithHeaders) else own


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model class inside of an annotation such as `list[When] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _model_in(arg)) is not None), None)
