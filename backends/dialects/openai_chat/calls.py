"""Tool calls of one choice, put right for clients that join string fields by index.

Servers leave the index out, or always send 0; repeat id and name in every fragment; send arguments as an object.
A client then glues two calls into one, or `call_acall_a`. A new non-empty id starts a new call.
"""

from typing import Any

import msgspec


def as_list(calls: object) -> list[dict[str, Any]]:
    """A lone call stands for a list of one; what is no object is dropped."""
    return [call for call in (calls if isinstance(calls, list) else [calls]) if isinstance(call, dict)]


def with_text_arguments(function: dict[str, Any]) -> dict[str, Any]:
    """`arguments` as the string of JSON that the schema wants."""
    arguments = function.get("arguments")
    if arguments is None or isinstance(arguments, str):
        return function
    return {**function, "arguments": msgspec.json.encode(arguments).decode()}


def whole_call(call: dict[str, Any]) -> dict[str, Any]:
    """A call of an unstreamed answer."""
    function = call.get("function")
    return {**call, "function": with_text_arguments(function)} if isinstance(function, dict) else call


class CallFragments:
    """Numbers the calls of one choice; each fragment in, the fragment that the client shall see out."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._named: list[bool] = []
        self._by_index: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._ids)

    def push(self, fragment: dict[str, Any]) -> dict[str, Any]:
        place, is_new = self._place(fragment)
        shown = {key: value for key, value in fragment.items() if key not in ("index", "id", "function")}
        if is_new:
            shown = {"id": self._ids[place], **shown}
            shown.setdefault("type", "function")
        else:
            shown.pop("type", None)
        function = fragment.get("function")
        if isinstance(function, dict):
            shown["function"] = self._function(with_text_arguments(function), place)
        return {"index": place, **shown}

    def _place(self, fragment: dict[str, Any]) -> tuple[int, bool]:
        given, index = fragment.get("id"), fragment.get("index")
        upstream_index = index if isinstance(index, int) else None
        if isinstance(given, str) and given in self._ids:
            return self._ids.index(given), False
        if not given and self._ids and (upstream_index is None or upstream_index in self._by_index):
            last = len(self._ids) - 1
            return (last if upstream_index is None else self._by_index[upstream_index]), False
        place = len(self._ids)
        self._ids.append(given if isinstance(given, str) and given else f"call_{place}")
        self._named.append(False)
        if upstream_index is not None:
            self._by_index[upstream_index] = place
        return place, True

    def _function(self, function: dict[str, Any], place: int) -> dict[str, Any]:
        name = function.get("name")
        keeps = bool(name) and not self._named[place]
        self._named[place] = self._named[place] or keeps
        return {key: value for key, value in function.items() if key != "name" or keeps}
