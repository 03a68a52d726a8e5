"""Fields of a chat that change its answer and that no engine here can heed. Left unread they would be dropped silently."""

from collections.abc import Mapping
from typing import Any

import msgspec

from backends.errors import UpstreamError
from backends.messages import ChatRequest

IDLE: Mapping[str, tuple[Any, ...]] = {
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"],),
    "audio": (),
    "web_search_options": (),
}
"""By field, the values that ask for nothing. So does null."""

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NAMES = {name: f'"{name}"'.encode() for name in IDLE}


def refuse_unmet(request: ChatRequest) -> None:
    """Raises `UpstreamError` unsupported with the field's name."""
    if request.asks != "chat":
        return
    named = [name for name, quoted in _NAMES.items() if quoted in request.raw]
    fields = _FIELDS.decode(request.raw) if named else {}
    for name in named:
        value = msgspec.json.decode(fields[name]) if name in fields else None
        if value is not None and value not in IDLE[name]:
            raise UpstreamError("unsupported", f"{name} cannot be heeded by this model", sent=False, param=name)
