"""A body of this dialect without what asks for thinking, for a server that refuses to be asked."""

import msgspec

Fields = dict[str, msgspec.Raw]

_FIELDS = msgspec.json.Decoder(Fields)
_EDITS = msgspec.json.Decoder(list[msgspec.Raw])


class _Edit(msgspec.Struct):
    type: str = ""


_EDIT = msgspec.json.Decoder(_Edit)


def forget_thinking(fields: Fields) -> None:
    """Also the clearing of thoughts, which such a request may not ask for."""
    fields.pop("thinking", None)
    _without(fields, "output_config", "effort")
    context = _object(fields.get("context_management"))
    if "edits" in context:
        kept = [edit for edit in _list(context["edits"]) if not _clears_thinking(edit)]
        fields["context_management"] = msgspec.Raw(msgspec.json.encode({**context, "edits": kept}))
        if not kept:
            _without(fields, "context_management", "edits")


def _without(fields: Fields, name: str, inner: str) -> None:
    """An object that holds nothing else goes as a whole."""
    found = _object(fields.get(name))
    if inner in found:
        del found[inner]
        fields[name] = msgspec.Raw(msgspec.json.encode(found))
        if not found:
            del fields[name]


def _object(raw: msgspec.Raw | None) -> Fields:
    """What is none is the server's to judge."""
    try:
        return {} if raw is None else _FIELDS.decode(raw)
    except msgspec.DecodeError:
        return {}


def _list(raw: msgspec.Raw) -> list[msgspec.Raw]:
    try:
        return _EDITS.decode(raw)
    except msgspec.DecodeError:
        return []


def _clears_thinking(edit: msgspec.Raw) -> bool:
    try:
        return _EDIT.decode(edit).type.startswith("clear_thinking")
    except msgspec.DecodeError:
        return False
