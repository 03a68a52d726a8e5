"""Tool calls of one choice, put right for clients that join string fields by index.

Servers leave the index out, or always send 0; leave the id out, or send one for two calls; repeat id and name in every
fragment; send arguments as an object, or none. A client then glues two calls into one, or `call_acall_a`. A new non-empty id
starts a new call, and so does a name with arguments behind a call whose own arguments are whole.
"""

import secrets
from typing import Any

import msgspec

from backends.dialects.openai_chat.pieces import Pieces

ID_BYTES = 12
NO_ARGUMENTS = "{}"
"""A function that takes nothing is called with an empty object: clients read arguments as JSON, and no text is none."""


def as_list(calls: object) -> list[dict[str, Any]]:
    """A lone call stands for a list of one; what is no object is dropped."""
    return [call for call in (calls if isinstance(calls, list) else [calls]) if isinstance(call, dict)]


def with_text_arguments(function: dict[str, Any]) -> dict[str, Any]:
    """`arguments` as the string of JSON that the schema wants."""
    arguments = function.get("arguments", "")
    if isinstance(arguments, str):
        return function
    return {**function, "arguments": "" if arguments is None else msgspec.json.encode(arguments).decode()}


def whole_calls(calls: object) -> list[dict[str, Any]]:
    """The calls of an unstreamed answer, each with an id of its own: their results are told by it."""
    taken: set[str] = set()
    return [_whole(call, taken) for call in as_list(calls)]


def _whole(call: dict[str, Any], taken: set[str]) -> dict[str, Any]:
    told = {**call, "id": _id_beside(taken, call.get("id")), "type": call.get("type") or "function"}
    if not isinstance(call.get("function"), dict):
        return told
    function = with_text_arguments(call["function"])
    return {**told, "function": {**function, "arguments": function.get("arguments", "").strip() or NO_ARGUMENTS}}


def _id_beside(taken: set[str], given: object) -> str:
    """The id that a call came with, where it came with one that no other has; it is taken from here on."""
    is_own = isinstance(given, str) and given and given not in taken
    told = str(given) if is_own else f"call_{secrets.token_hex(ID_BYTES)}"
    taken.add(told)
    return told


class CallFragments:
    """Numbers the calls of one choice; each fragment in, the fragment that the client shall see out."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._taken: set[str] = set()
        self._named: list[bool] = []
        self._said: list[Pieces] = []
        self._index: list[int | None] = []
        self._by_index: dict[int, int] = {}
        self._by_id: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._ids)

    def push(self, fragment: dict[str, Any]) -> dict[str, Any]:
        function = fragment.get("function")
        function = with_text_arguments(function) if isinstance(function, dict) else None
        place, is_new = self._place(fragment, function or {})
        shown = {key: value for key, value in fragment.items() if key not in ("index", "id", "function")}
        if is_new:
            shown = {"id": self._ids[place], **shown}
            shown.setdefault("type", "function")
        else:
            shown.pop("type", None)
        if function is not None:
            shown["function"] = self._function(function, place)
        return {"index": place, **shown}

    def unsaid(self) -> list[dict[str, Any]]:
        """The arguments of the functions that are called and were given none, once nothing more comes."""
        places = [place for place, named in enumerate(self._named) if named and self._said[place].is_blank]
        return [{"index": place, "function": {"arguments": NO_ARGUMENTS}} for place in places]

    def _place(self, fragment: dict[str, Any], function: dict[str, Any]) -> tuple[int, bool]:
        given, index = fragment.get("id"), fragment.get("index")
        upstream_index = index if isinstance(index, int) else None
        place = self._continued(given, upstream_index, function)
        if place is not None:
            return place, False
        place = len(self._ids)
        self._ids.append(_id_beside(self._taken, given))
        self._named.append(False)
        self._said.append(Pieces())
        self._index.append(upstream_index)
        if upstream_index is not None:
            self._by_index[upstream_index] = place
        if isinstance(given, str) and given:
            self._by_id[given] = place
        return place, True

    def _continued(self, given: object, index: int | None, function: dict[str, Any]) -> int | None:
        """The call that a fragment is more of; None where it begins one."""
        if isinstance(given, str) and given in self._by_id:
            place = self._by_id[given]
            return place if index in (None, self._index[place]) or self._index[place] is None else None
        if given or not self._ids or not (index is None or index in self._by_index):
            return None
        place = len(self._ids) - 1 if index is None else self._by_index[index]
        begins = function.get("name") and function.get("arguments") and self._said[place].is_object
        return None if begins else place

    def _function(self, function: dict[str, Any], place: int) -> dict[str, Any]:
        name = function.get("name")
        keeps = bool(name) and not self._named[place]
        self._named[place] = self._named[place] or keeps
        self._said[place].all.append(function.get("arguments") or "")
        return {key: value for key, value in function.items() if key != "name" or keeps}
